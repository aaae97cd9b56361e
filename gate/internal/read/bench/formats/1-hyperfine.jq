# hyperfine, --export-json: the median of each command in seconds. One --command-name may stand for all values of a
# parameter; commands of one name beyond that have a number.
module {name: "hyperfine", parts: "parameters", known: "mean|stddev|median|user|system|min|max|times|exit_codes"};
def is: type == "object" and any(.results | arrays | .[:50][]; type == "object" and has("command") and (has("times") or has("median")));
(.results // []) as $all | ([$all[].command] | counts) as $count
| [$all[] | if $count[.command] > 1 then [.command, (.parameters // {} | to_entries[] | "\(.key)=\(.value)")] | join(" ")
    else .command end] | apart as $rows
| range($all | length) as $i | $rows[$i] as $row | $all[$i]
| if any(.exit_codes[]?; . != 0) then {row: $row, failed: true}
  elif .median != null then {row: $row, metric: "duration", unit: "s", value: .median} else {row: $row, metric: "duration", unit: "s", values: .times} end
