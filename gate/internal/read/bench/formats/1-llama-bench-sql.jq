module {name: "llama-bench"};
def is: type == "string" and test("^CREATE TABLE IF NOT EXISTS (?:test|llama_bench) \\(");
{refuse: "\($file) is the SQL of llama-bench", kind: "other-format", next: "let it write JSON: llama-bench -o json"}
