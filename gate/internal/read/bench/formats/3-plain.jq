# A flat object of numbers with names that names.go knows. Texts are context. A number of another name is refused: its direction is not known.
module {name: "serving metrics", load: true, parts: "server_info|metadata", known: "ttfts|itls|tpots|e2els|latencies|(?:input|output|prompt)_lens|start_times|errors|total_output_tokens_retokenized|random_range_ratio"};
def is: type == "object" and length < 5000 and all(.[]; type | IN("object", "array") | not)
  and any(to_entries[]; (.value | type == "number") and (.key | meaning | .row?) != null);
(first(to_entries[] | select((.value | type == "number") and (.key | meaning == null and setting == null)) | .key
  | {refuse: "\($file): \(quote) is \(if "\(.)_ms" | meaning | .metric? == "duration" then "a latency without a unit"
      else "no serving metric that nsgate knows" end)",
    next: "rename it, or write its value as a text. \(known_names)"}) // empty),
served(true)
