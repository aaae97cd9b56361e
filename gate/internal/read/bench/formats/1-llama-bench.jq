# llama-bench, JSON, JSON lines or CSV: tokens per second of each test. Its name has the settings that are not usual, and
# those that differ between tests of one name. The model of a file is a setting.
module {name: "llama-bench", known: "(?:avg|stddev|samples)_(?:ns|ts)|build_number|n_\\w+|no_\\w+|flash_attn|main_gpu|use_\\w+|tensor_split|embeddings|poll|cpu_strict|prio|fit_\\w+|model_(?:size|n_params)|\\w*_offload|devices"};
def is: $columns[0] == "build_commit" or (if type == "array" then .[0] else . end | type == "object" and has("model_filename") and has("avg_ts"));
def name: . as $t | def text($key): $t[$key] // "";
  ([["n_prompt", "pp"], ["n_gen", "tg"]] | map(text(.[0]) as $n | select($n != "0" and $n != "") | .[1] + $n) | join("+")) as $tokens
  | (text("model_type") + " " + $tokens | trim) + ([ ["n_depth", "0"], ["n_batch", "2048"], ["n_ubatch", "512"], ["type_k", "f16"], ["type_v", "f16"],
    ["n_gpu_layers", "99", "-1"], ["split_mode", "layer"], ["flash_attn", "false", "0", "-1"]
    | .[0] as $key | text($key) as $v | select($v != "" and (.[1:] | index($v)) == null) | " \($key)=\($v)"] | add // "");
[(if type == "object" then [.] else . end)[] | map_values(tostring) | {test: ., name: name}] as $all
| ([$all[].test.model_filename // empty] | unique | if length == 1 then {load: {model: .[0]}} else empty end),
  ($all[].test | {start: .test_time, gpu: ((.gpu_info // "") | split(", ")[0])}),
  ($all | group_by(.name)[] | .[0].name as $name | map(.test) as $tests
    | ([$tests[] | to_entries[]] | group_by(.key) | map(.[0] as $first | select(($first.key | test("^(?:avg|stddev|samples)_|^test_time$") | not)
        and (length < ($tests | length) or any(.[]; .value != $first.value))) | {key: $first.key, value: true}) | from_entries) as $differing
    | $tests[] | . as $t | {metric: "item_rate", value: (.avg_ts | num),
        row: ([$name, (keys[] | select($differing[.]) | "\(.)=\($t[.])")] | join(" "))})
