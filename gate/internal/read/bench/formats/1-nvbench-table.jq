module {name: "nvbench"};
def is: $columns[:3] == ["Benchmark", "Device", "Device Name"];
{refuse: "\($file) is a CSV of nvbench, which has names without quotes", kind: "other-format", next: "let nvbench write JSON"}
