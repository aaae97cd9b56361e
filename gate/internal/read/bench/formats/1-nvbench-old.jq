module {name: "nvbench"};
def is: type == "object" and has("benchmarks") and (.meta == null)
  and any(.benchmarks | arrays | .[:50][]; any(.states? | arrays, objects | .[]; type == "object" and has("axis_values") and has("summaries")));
{refuse: "\($file) is a result of an nvbench that wrote no meta yet", kind: "other-format",
 next: "write it with an nvbench of 2022 or newer"}
