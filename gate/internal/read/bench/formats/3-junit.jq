# JUnit: the time of each test in seconds. Tests of one name in several suites have the suite in their names, and several
# suites of one name, such as each run of pytest in a joined file, or tests of one name in a suite, a number.
module {name: "JUnit",
  known: "time|tests|failures|errors|skipped|disabled|assertions|id|line|timestamp|hostname|version|retries|rerun|flakes|classname"};
def is: type == "object" and (.name | IN("testsuites", "testsuite"))
  and any(.. | objects | .name? | strings; . == "testcase");
def suites($around): .elements[] | select(.name != "testcase")
  | if .name == "testsuite" then "\($around)/\(.attributes.name // "")" as $full
      | {full: $full, name: (.attributes.name // ""), cases: .elements}, suites($full)
    else suites($around) end;
[{elements: [.]} | suites("")] as $all | ([$all[].full] | apart) as $names | range($all | length) as $i
| $all[$i] as $s | ($names[$i] | ltrimstr("/") | ltrimstr("/")) as $suite
| $s.cases | tests($s.name; $suite)[] | if .case then .row as $row | .case | ([.elements[].name]) as $inner
  | if any($inner[]; . == "skipped") or (.attributes.status | IN("notrun", "disabled")) then {row: $row, skipped: true}
    elif any($inner[]; IN("failure", "error")) then {row: $row, failed: true}
    elif (.attributes.time // "") == "" then {refuse: "\($file): line \(.line): \($row | quote) has no time",
      next: "have the test runner write the times of the tests"}
    elif (.attributes.time | num) == 0 then {row: $row, left_out: "0 by a coarse clock"} # rounded
    else {row: $row, metric: "duration", unit: "s", value: (.attributes.time | num), suite: $suite} end
  else . end
