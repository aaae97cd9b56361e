# go test -bench, text or -json (golang.org/design/14313-benchmark-format). Lines of one name are repetitions in a process.
module {name: "go test"};
def printed: if type == "array" then [.[] | .Output? | strings] | add // "" else . end;
def pattern: "(?:^|[^\\w/])(?<name>Benchmark[^\\s:]*)\\s+\\d+\\s+(?<rest>[\\d.e+-]+ \\S*[^\\s\\d]\\S*(?:\\s.*)?)$";
def is: (type == "string" or (type == "array" and (.[0] | type == "object" and has("Action") and has("Package"))))
  and (printed | test("(?m)Benchmark\\S*\\s+\\d+\\s+[\\d.e+-]+ (?:ns/op|\\S+/op|MB/s)"));
(printed | [lines]) as $lines | (if any($lines[]; test("FAIL\\s+\\S+\\s+[\\d.]+s$")) and (any($lines[]; contains("--- FAIL: Benchmark")) | not)
  then refused("go test failed"; "find out why; its output tells") else empty end),
  (foreach $lines[] as $line (""; ($line | capture("(?:^|\\W)pkg: (?<suite>\\S+)$").suite) // .; . as $suite | $line
    | (capture("--- FAIL: (?<row>Benchmark\\S*)") | .failed = true),
      ((capture(pattern) | .name as $name | .rest | [splits("\\s+")] | range(0; length - 1; 2) as $i | .[$i + 1] as $unit | {suite: $suite, value: (.[$i] | num)}
          + if $unit == "ns/op" then {row: $name, metric: "duration", unit: "ns"}
            elif $unit == "B/op" then {row: "\($name) memory", metric: "memory", unit: "B"}
            elif $unit == "MB/s" then {row: "MB/s", left_out: "the time in another unit"} else {row: "\($name) \($unit)", unit: $unit} end
        | if .value == 0 and .metric == "duration" then {row: $name, left_out: "0 by a coarse clock"} else . end)
       // (select(contains(" ns/op")) | {row: "a line of ns/op", left_out: "no name of a benchmark before its numbers"}))))
