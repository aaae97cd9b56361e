package bench

import (
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/read/filter"
)

// spellings are the numbers of load generators by their names without statistic and unit: of each the metric and all
// its names, the first of which is that of the row. Failures are a value; settings and totals have no metric.
var spellings = sync.OnceValue(func() map[string][]string {
	of := map[string][]string{}
	for line := range strings.Lines(string(must(sources.ReadFile(namesFile)))) {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			of[name] = words
		}
	}
	return of
})

const namesFile = "formats/names.txt"

// servingName matches a name in its parts: a statistic before or behind, and a unit of time.
var servingName = input.Pattern(`^(?:(` + statistics + `)_)?(.+?)(?:_(` + statistics + `))?` +
	`(?:_(ns|us|usec|microseconds|ms|msec|milliseconds|s|sec|seconds))?(?:_(` + statistics + `))?$`)

const statistics = `mean|avg|average|median|med|std|stddev|min|max|p\d{1,2}(?:_\d{1,4})?`

// longestMetric bounds a name of a number with its statistic and unit, in bytes: patterns take long for others.
const longestMetric = 128

// perSecond matches the unit of a rate in a name.
var perSecond = input.Pattern(`(?:/|_per_)s(?:ec|econd)?(_|$)`)

var spelling = strings.NewReplacer(" ", "_", "-", "_", ".", "_", "(", "", ")", "")

func normal(name string) string { return spelling.Replace(strings.ToLower(name)) }

// meaningOf is the meaning of a name that a load generator or a person writes (p99_ttft_ms, ttft_p99_ms, tokens/s): its
// row, metric and unit, or failures where it counts failed requests. It is empty for a setting, deviation or extreme,
// and nil for an unknown name, as that of a latency without a unit.
func meaningOf(name string) map[string]any {
	if len(name) > longestMetric {
		return nil
	}
	part := servingName().FindStringSubmatch(perSecond().ReplaceAllString(normal(name), "/s$1"))
	if part == nil {
		return nil
	}
	statistic, unit, line := part[1]+part[3]+part[5], part[4], spellings()[part[2]]
	if line == nil || len(statistic) > max(len(part[1]), len(part[3]), len(part[5])) {
		return nil
	}
	metric, row := line[0], strings.ReplaceAll(line[1], "_", " ")
	time := metric == measure.Duration.Name
	switch {
	case time && unit == "", !time && metric != "-" && unit != "", metric == measure.Value.Name && statistic != "":
		return nil
	case metric == measure.Value.Name:
		return map[string]any{"failures": true}
	case metric == "-", strings.HasPrefix(statistic, "std"), statistic == "min", statistic == "max":
		return map[string]any{}
	case time && len(row) <= 4:
		row = strings.ToUpper(row)
	}
	switch statistic = strings.ReplaceAll(statistic, "_", "."); statistic {
	case "avg", "average":
		statistic = "mean"
	case "med":
		statistic = "median"
	}
	if statistic != "" && (statistic != "mean" || time) {
		row = statistic + " " + row
	}
	if !time {
		return map[string]any{"row": row, "metric": metric}
	}
	return map[string]any{"row": row, "metric": metric, "unit": unit}
}

// setting matches the names of the settings of a load.
var setting = input.Pattern(`^(?:model(?:_id|_name)?|num_prompts|num_requests|n_requests|total_requests|request_rate|` +
	`burstiness|(?:max_|num_)?concurrency|num_workers|users|vus_max|batch_size|` +
	`(?:\w+_)?(?:input|output|prefix|question|prompt|isl|osl|max|sharegpt_output)_(?:len|length|tokens)|isl|osl|` +
	`random_range_ratio|(?:tp|pp|dp|ep|tensor_parallel|pipeline_parallel|data_parallel)(?:_size)?|dataset_name|num_gpus|` +
	`(?:kv_cache_)?dtype|quantization)$`)

// knownNames says which names a file of one's own may have.
func knownNames() string {
	text := string(must(sources.ReadFile(namesFile)))
	names := slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		line := spellings()[word]
		return line == nil || line[0] == "-" || line[0] == measure.Value.Name
	})
	return "Latencies need a unit (p99_ttft_ms); known are " + strings.Join(names, ", ")
}

// inUnit is the metric of a number in a unit, and the factor to its base unit. What a larger number means is known of
// times, sizes and rates only: any other unit gives [measure.Value], which is not judged, in that unit.
func inUnit(unit string) (measure.Metric, float64) {
	factor, base, known := measure.BaseUnit(unit)
	if m, rate := measure.ItemRate.In(base); rate {
		return m, factor
	}
	for _, m := range []measure.Metric{measure.Duration, measure.Memory, measure.Bandwidth, measure.FlopRate} {
		if known && m.Unit == base {
			return m, factor
		}
	}
	m, _ := measure.Value.In(strings.TrimSpace(unit))
	return m, 1
}

// ofText is a function of filters for a text, null for another value.
func ofText(name string, of func(text string) any) filter.Function {
	return filter.Function{Name: name, Call: func(v any, _ []any) any {
		if text, ok := v.(string); ok {
			return of(text)
		}
		return nil
	}}
}

// functions are what filters ask of names and units.
var functions = []filter.Function{
	// meaning: see [meaningOf]
	ofText("meaning", func(name string) any {
		if x := meaningOf(name); x != nil {
			return x
		}
		return nil
	}),
	// metric: the metric of numbers in a unit, null for an unknown unit
	ofText("metric", func(unit string) any {
		if m, _ := inUnit(unit); m.Name != measure.Value.Name {
			return m.Name
		}
		return nil
	}),
	// setting: the name of a setting of a load, "" for one that the load counts, null for another name
	ofText("setting", func(name string) any {
		switch name = normal(name); {
		case !setting().MatchString(name):
			return nil
		case name != "total_requests" && slices.Contains([]string{"total", "mean", "avg"}, strings.Split(name, "_")[0]):
			return ""
		}
		return name
	}),
	// normal: a name in the spelling of names.txt
	ofText("normal", func(name string) any { return normal(name) }),
	ofText("known_names", func(string) any { return knownNames() }),
	ofText("words", func(s string) any { return measure.Map(strings.Fields(s), func(w string) any { return w }) }),
	ofText("quoted", func(text string) any { return measure.Quote(text) }),
	{Name: "tests", Arguments: 2, Call: tests},
}
