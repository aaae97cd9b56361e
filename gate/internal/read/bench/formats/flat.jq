# Flat objects of numbers by names that nobody knows, which are no format: the sentence says how they are read. A Type is of an event of a profiler.
module {next: "say what its numbers are: --rows, for record and check rows in the policy (`nsgate help benchmarks`)"};
def numbers_of: if type == "array" then .[] else . end | objects | to_entries[];
def is: all(numbers_of; .value | type | IN("object", "array") | not)
  and any(numbers_of; (.value | type) == "number" and .key != "Type");
if type == "array" then {refuse: "\($file) is JSON of no benchmark harness that nsgate knows", kind: "other-format"}
else {refuse: "\($file) holds no metric by a known name", kind: "no-measurement",
  next: "rename its numbers, or say with --rows, for record and check with rows in the policy, what they are. \($file | known_names)"} end
