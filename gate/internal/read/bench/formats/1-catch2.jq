# Catch2, --reporter xml (reporters/catch_reporter_xml.cpp), versions 2 and 3: the mean of each benchmark in ns. The name is that of its test case, sections
# and itself; repetitions of one name, as those of generators, have a number.
module {name: "Catch2", known: "value|\\w+Bound|ci|variance|(?:low|high)(?:Mild|Severe)|line|(?:\\w+-)*(?:seed|version)|\\w*samples|iterations|clockResolution|estimatedDuration|successes|failures|expectedFailures|skips|durationInSeconds"};
def is: type == "object" and has("elements") and (.name | IN("Catch2TestRun", "Catch"));
def benchmarks($around): .elements[] | ([$around, .attributes.name | select(. != null and . != "")] | join("/")) as $name
  | if .name == "BenchmarkResults" then {name: $name, inner: .elements} else benchmarks(if .name | IN("TestCase", "Section") then $name else $around end) end;
[benchmarks("")] as $all | ([$all[].name] | apart) as $rows | range($all | length) as $i
| {row: $rows[$i]} + ([$all[$i].inner[] | {key: .name, value: .attributes}] | from_entries
    | if .mean then {metric: "duration", unit: "ns", value: (.mean.value | num)} else {failed: (.failed.message // "no result")} end)
