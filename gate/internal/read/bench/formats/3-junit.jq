# JUnit: the time of each test in seconds. Tests of one name in several suites have the suite in their names, and several
# suites of one name, such as each run of pytest in a joined file, a number.
module {name: "JUnit",
  known: "time|tests|failures|errors|skipped|disabled|assertions|id|line|timestamp|hostname|version|retries|rerun|flakes|classname"};
def is: type == "object" and (.name | IN("testsuites", "testsuite"))
  and any(.. | objects | .name? | strings; . == "testcase");
def suites($around): .elements[] | select(.name != "testcase")
  | if .name == "testsuite" then "\($around)/\(.attributes.name // "")" as $full
      | {full: $full, name: (.attributes.name // ""), cases: [.elements[] | select(.name == "testcase")]}, suites($full)
    else suites($around) end;
[{elements: [.]} | suites("")] as $all | ([$all[].full] | numbered) as $numbers | range($all | length) as $i
| $all[$i] as $s | $numbers[$i] as $n
| ($s.full | ltrimstr("/") | ltrimstr("/")) + if $n > 1 then "#\($n)" else "" end | . as $suite
| $s.cases | tests($s.name; $suite)[]
| if .line then {refuse: "\($file): line \(.line): \(.row | quote) has no time",
    next: "have the test runner write the times of the tests"} else . end
