# customSmallerIsBetter and customBiggerIsBetter of github-action-benchmark, whose values are numbers or texts of numbers. The file does not say which of the
# two it is: the unit tells the direction, or nothing does; more free memory is a gain.
module {name: "github-action-benchmark", twins: true, known: "value"};
def is: type == "array" and (.[0] | type == "object" and has("name") and has("unit") and has("value"));
.[] | {row: .name, unit: (.unit // ""), value: (.value | num)}
| if .unit | metric == "memory" then if .row | test("free|avail|saved|unused"; "i") then .better = "none" else . end else . end
