# all_results.json of the Trainer of transformers (speed_metrics in trainer_utils.py): run times in s and rates. Losses are values for rules.
module {name: "transformers Trainer", known: "total_flos|epoch|\\w*_samples|num_input_tokens_seen|step"};
def is: type == "object" and any(to_entries[]; (.key | test("^[a-z]+_(?:runtime|(?:samples|steps)_per_second)$")) and (.value | type == "number"))
  and all(.[]; type | IN("object", "array") | not);
{load: with_entries(select(.key | test("^epoch$|_samples$")))},
(to_entries[] | select((.value | type == "number" or no_number) and (.key | test("^total_flos$|^epoch$|_samples$|_seen$|^step$") | not)) | {row: .key, value, of: .key}
  | if .value | no_number then {row, of, left_out: "no number"} elif (.row | test("_runtime$|_time$")) and .value > 0 then . + {metric: "duration", unit: "s"}
    elif .row | test("_per_second$") then . + {metric: "item_rate"}
    elif .value < 0 or (.row | test("_mem_|_time$|_runtime$")) then {row: .row, of: .row, left_out: "a difference"} else .metric = "value" end)
