# airspeed velocity, docs/source/dev.rst, versions 1 and 2: names of benchmarks tell what they measure (time_, timeraw_ seconds; mem_, peakmem_ bytes; track_
# anything, in the unit that benchmarks.json beside the file or above it holds). null is of a benchmark that failed, NaN of one that was skipped.
module {name: "asv", beside: "benchmarks.json", parts: "durations|stats", known: "version|result|params|started_at|duration|number|samples|stats(?:_.*)?|date|ram|num_cpu"};
def is: type == "object" and has("commit_hash") and has("params") and (.params | type == "object" and has("machine"));
def rows($name): # of an object of result and params
  (.params // []) as $params | .result as $r | (if $r == null then null elif ($r | type) == "array" then $r else [$r] end) as $values
  | (reduce ($params[] | length) as $n (1; . * $n)) as $count | ($name | split(".")[-1] | ascii_downcase | split("_")[0]) as $kind
  | (if $kind | IN("time", "timeraw") then {metric: "duration", unit: "s"}
     elif $kind | IN("mem", "peakmem") then {metric: "memory", unit: "B"}
     else ($beside[$name]?.unit? | strings | select(. != "" and . != "unit") | {unit: .}) // {metric: "value"} end) as $metric
  | if $values == null or ($count != 1 and $values == [null]) then {row: $name, failed: true, of: $name}
    elif ($values | length) != $count then {refuse: "\($file): results[\($name | quote)]: \($values | length) values for \($count) combinations of parameters"}
    else range($count) as $i | (if $count == 1 and ($params | length) == 0 then $name else
        (reduce ($params | reverse)[] as $p ({i: $i, words: []}; ($p | length) as $n
          | {i: (.i / $n | floor), words: [$p[.i % $n]] + .words})) | "\($name)(\(.words | join(", ")))" end) as $row
    | $values[$i] | if . == null then {row: $row, failed: true, of: $name}
      elif . == "NaN" then {row: $row, skipped: true, of: $name} else $metric + {row: $row, value: ., of: $name} end
    end;
{host: .params.machine},
(.result_columns as $columns | (.results // {}) | to_entries[] | .key as $name | .value | (if type == "object" then .
   elif $columns == null then {result: .}
   elif type == "array" then . as $cells | [range([length, ($columns | length)] | min) | {key: $columns[.], value: $cells[.]}] | from_entries
   else {bad: true} end) | if .bad or ((.params // []) | type != "array" or any(.[]; type != "array"))
  then {refuse: "\($file): results[\($name | quote)]: it is no list of the columns with values and params"} else rows($name) end)
