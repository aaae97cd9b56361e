module {name: "github-action-benchmark"};
def is: if type == "string" then test("^window\\.BENCHMARK_DATA\\s*=\\s*\\{\\s*\"lastUpdate\"\\s*:")
  else type == "object" and has("lastUpdate") and has("entries") end;
{refuse: "\($file) is the history that github-action-benchmark keeps (data.js), not one measurement", kind: "other-format",
 next: "compare the files that it was made of, one of each process"}
