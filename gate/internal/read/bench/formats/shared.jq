# Definitions that all filters share, in addition to meaning, metric, setting, normal and known_names of names.go.
# num makes a number of a text of one, as of 1,234.5, and leaves another text as it is. A longer one takes long to make, and is none.
def num: if type == "string" and utf8bytelength < 400 then (if contains(",") and test("^\\d{1,3}(?:,\\d{3})+\\.\\d+$") then gsub(","; "") else trim end | tonumber? // .) else . end;
def lines: split("\n")[] | rtrimstr("\r");
def no_number: IN("NaN", "Infinity", "-Infinity");
def quote: if type == "string" then quoted else . end;
# counts gives how many of each text a list has, numbered how many of each stand up to there.
def counts: map(strings) | group_by(.) | map({key: .[0], value: length}) | from_entries;
def numbered: [to_entries | group_by(.value)[] | to_entries[] | [.value.key, .key + 1]] | sort | map(.[1]);
# nth_of gives the nth of a name a number, with more signs before it where that is another one of those that are given.
def nth_of($n; $given): . as $name | if $n < 2 then . else first("#" | recurse(. + "#") | $name + . + "\($n)" | select($given[.] | not)) end;
def apart: . as $names | (if (unique | length) == length then . else numbered as $n | counts as $given
  | [range(length) as $i | $names[$i] | nth_of($n[$i]; $given)] end);
def settings: with_entries(select((.key | setting // "") != ""));
def refused($why; $next): {refuse: "\($file): \($why)", next: $next, kind: "workload-failed"};
def the_log: "find out why they failed; the log of the server tells";
def requests_failed($where; $n): refused("requests failed: \($where) is \($n)"; the_log);

# failures counts failed requests: a number or its text, a list or object of them or of messages.
def failures: if type == "number" then . elif . == true then 1 elif type == "string" then (num | numbers) // 0
  elif type == "array" then [.[] | select(. != "") | if type == "string" then 1 else failures end] | add // 0
  elif type == "object" then [.[] | failures] | add // 0 else 0 end;

# statistics gives the rows of an object of statistics of a quantity in a unit.
def statistics_in($of; $name; $unit): to_entries[] | select(.key | test("^p[1-4]?\\d$") | not) | ("\(.key)_\($name)_\($unit)" | rtrimstr("_") | meaning) as $m
  | select($m.row) | if .value == null then {row: $m.row, left_out: "no number", of: $of} else {of: $of, once: true, value} + $m end;

# served gives the rows of a flat object of serving metrics, its settings, or why it is no measurement.
def served($zero):
  def first_of($names): first(to_entries[] | select(.key | normal | IN($names[])) | .value |= num | select(.value | type == "number")) // null;
  first_of(["num_prompts","num_requests","total_requests","requests","n_requests","num_requests_started"]) as $asked
  | first_of(["completed","completed_requests","successful_requests","success","successes","succeeded","num_completed",
      "num_completed_requests","num_successful_requests"]) as $done
  | first_of(["duration","benchmark_duration","duration_s"]) as $duration | [$done.value // 0, $asked.value // 0] as $counts
  | (to_entries[] | select(.key | meaning | .failures?) | if .value == null then requests_failed(.key; "null, so their number is not known")
        else .key as $k | (.value | failures) | select(. > 0) | requests_failed($k; .) end),
    (if $done.value == 0 then refused("no request was completed"; "find out why the server answered none; its log tells")
     elif $done and $asked and $done.value < $asked.value
     then refused("only \($done.value) of \($asked.value) requests were completed (\($done.key), \($asked.key))";
       "find out why the others failed; the log of the server tells") else empty end),
    # SGLang counts the concurrency that it reached, which no run repeats
    {load: ((if has("max_concurrency") or (.concurrency | type == "number" and . != floor) then del(.concurrency) else . end | settings) + if $done and ($asked | not) then {completed: $done.value} + if $duration then {duration: $duration.value} else {} end else {} end
      + ([("input", "output") as $kind | first_of(["total_\($kind)", "total_\($kind)_tokens"])
          | select(. != null and ($counts | max) > 0) | {"\($kind)_tokens_per_request": (.value / ($counts | max))}] | add // {})),
     start: ((.date | strings) // null)},
    (to_entries[] | (.key | meaning) as $m | select($m.row and (.value != null or $m.unit))
      | if .value == null then {row: .key, left_out: "no number"} elif .value == 0 and $m.unit and ($zero | not) then {row: $m.row, left_out: "0: no request has it"} else {value, of: .key, once: true} + $m end);
