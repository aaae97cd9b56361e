//go:build linux

package command_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// pairSetting is a limit, or another setting that decides: its key in a table of the policy file, its flag, and two
// values, the first of which allows more.
type pairSetting struct {
	name, table, key, flag string
	loose, strict          string
	// limits are subjects on which the loose value lets a slow program pass, and the strict one does not; "" for none.
	limits string
	acts   string // subjects whose report it changes; "" for all
}

// In the values of rules, FLOOR, WITHIN and BEYOND are those of the subject.
var pairSettings = []pairSetting{
	{name: "threshold", key: "threshold", flag: "threshold", loose: "90%", strict: "0.5%",
		limits: "kernels models workloads rows rates units junit results output"},
	{name: "workload threshold", table: "workload", key: "threshold", loose: "90%", strict: "0.5%",
		limits: "kernels models workloads rows rates units junit results output"},
	{name: "workload threshold and top", table: "both", key: "threshold", flag: "threshold", loose: "90%",
		strict: "0.5%", limits: "kernels models rows rates units junit results output"},
	{name: "step_threshold", key: "step_threshold", flag: "step-threshold", loose: "90%", strict: "0.5%",
		acts: "kernels step copies boards models workloads drift"},
	{name: "alpha", key: "alpha", flag: "alpha", loose: "0.01%", strict: "20%"},
	{name: "cost", key: "cost", flag: "cost", loose: "90%", strict: "0%",
		acts: "kernels step copies boards models workloads drift ranks rows rates units junit results output"},
	{name: "session_sd", key: "session_sd", loose: "5%", strict: "1%", acts: "boards"},
	{name: "warmup_threshold", key: "warmup_threshold", loose: "400%", strict: "1%", acts: "kernels"},
	{name: "outside_threshold", key: "outside_threshold", loose: "400%", strict: "1%", acts: "kernels"},
	{name: "undecided", key: "undecided", flag: "undecided", loose: "warn", strict: "fail", acts: "none"},
	{name: "max_age", key: "max_age", loose: "90000d", strict: "1d", acts: "none"},
	{name: "rule max", table: "rule", key: "max", loose: "900%", strict: "0.1%",
		limits: "kernels models workloads rows rates units junit results output raw"},
	{name: "rule floor", table: "rule", key: "floor", loose: "FLOOR", strict: "0",
		limits: "kernels models rows rates units junit output"},
	{name: "rule bound", table: "rule", key: "at_most", loose: "WITHIN", strict: "BEYOND",
		limits: "kernels models workloads rows rates units junit results output raw"},
	{name: "rule drift", table: "rule", key: "drift", loose: "900%", strict: "0.5%"},
	{name: "rule severity", table: "rule", key: "severity", loose: "ignore", strict: "fail",
		limits: "kernels models rows rates units junit results output"},
}

// The other parameters. A mode is how a program is judged; a way to pass is why a gate that found something exits with
// 0; a place is where the program lies and nsgate is called.
var (
	pairModes   = []string{"compare", "from", "measured"}
	pairHeads   = []string{"same", "slow", "gone"}
	pairSources = []string{"file", "flag", "variable"}
	pairPasses  = []string{"none", "no baseline", "no baseline shown", "shadow", "shadow by flag", "warn", "ignore",
		"undecided fails", "skip unchanged"}
	pairPlaces  = []string{"plain", "brackets", "blanks", "below", "elsewhere", "dir"}
	pairReviews = []string{"none", "target", "github"}
	pairFormats = []string{"text", "markdown", "json", "html", "csv", "junit", "sarif", "codequality", "rdjson",
		"dotenv", "openmetrics", "bencher", "customSmallerIsBetter"}
)

func pairParameters() []parameter {
	subjects, settings := make([]string, len(pairSubjects)), make([]string, len(pairSettings))
	for i, s := range pairSubjects {
		subjects[i] = s.name
	}
	for i, s := range pairSettings {
		settings[i] = s.name
	}
	return []parameter{{"subject", subjects}, {"setting", settings}, {"mode", pairModes}, {"head", pairHeads},
		{"source", pairSources}, {"pass", pairPasses}, {"place", pairPlaces}, {"review", pairReviews},
		{"format", pairFormats}}
}

// pairRow is a row of the covering array.
type pairRow struct {
	pairSubject
	setting                                        pairSetting
	mode, head, source, pass, place, review, shown string
}

func newPairRow(p []parameter, row []int) pairRow {
	at := func(i int) string { return p[i].values[row[i]] }
	return pairRow{pairSubjects[row[0]], pairSettings[row[1]], at(2), at(3), at(4), at(5), at(6), at(7), at(8)}
}

func (r pairRow) String() string {
	return strings.Join([]string{r.name, r.setting.name, r.mode, r.head, "by " + r.source, "pass: " + r.pass,
		"place: " + r.place, "review: " + r.review, r.shown}, " | ")
}

// possiblePair says which rows exist.
func possiblePair(p []parameter) func(row []int) bool {
	return func(row []int) bool {
		has := func(i int) bool { return row[i] >= 0 }
		at := func(i int) string { return p[i].values[row[i]] }
		if has(0) {
			s := pairSubjects[row[0]]
			if has(2) && !slices.Contains(strings.Fields(s.modes), at(2)) || has(3) && at(3) == "gone" &&
				s.gone == "" ||
				has(5) && strings.Contains(at(5), "shadow") && s.modes == "compare" {
				return false
			}
			if has(1) && s.floor == "" && pairSettings[row[1]].key == "floor" {
				return false
			}
		}
		if has(1) && has(4) && pairSettings[row[1]].flag == "" && at(4) != "file" {
			return false
		}
		if has(2) && at(2) == "compare" {
			if has(1) && slices.Contains([]string{"workload", "both"}, pairSettings[row[1]].table) {
				return false // compared files belong to no workload
			}
			if has(5) && slices.Contains([]string{"no baseline", "no baseline shown", "shadow", "shadow by flag",
				"skip unchanged"}, at(5)) {
				return false
			}
		}
		return !has(2) || at(2) == "measured" || (!has(5) || at(5) != "skip unchanged") && (!has(6) || at(6) != "dir")
	}
}

// pairSeeds are rows of three values and more that depend on each other: "parameter=value" each.
func pairSeeds(p []parameter) (seeds [][]int) {
	for _, seed := range []string{
		"mode=measured pass=skip_unchanged place=dir head=slow setting=rule_max",
		"subject=output mode=measured pass=none head=slow setting=threshold place=plain",
		"subject=boards setting=session_sd pass=none head=slow",
		"subject=kernels mode=from setting=workload_threshold_and_top source=variable pass=none head=slow " +
			"review=target",
		"subject=drift mode=from setting=rule_drift pass=none head=slow place=plain",
		"subject=kernels mode=from place=elsewhere pass=none head=slow setting=alpha",
		"subject=results mode=measured place=brackets pass=none head=slow",
		"subject=junit mode=from pass=none head=gone place=plain",
		"mode=measured pass=skip_unchanged place=brackets head=slow subject=kernels",
		"subject=rows mode=from pass=shadow head=slow place=below",
		"subject=kernels mode=from pass=none head=slow setting=rule_bound",
		"subject=rows mode=from pass=none head=slow setting=rule_drift",
	} {
		row := make([]int, len(p))
		for i := range row {
			row[i] = -1
		}
		for _, word := range strings.Fields(seed) {
			name, value, _ := strings.Cut(word, "=")
			for i := range p {
				if p[i].name == name {
					row[i] = slices.Index(p[i].values, strings.ReplaceAll(value, "_", " "))
					if row[i] < 0 {
						row[i] = slices.Index(p[i].values, value)
					}
				}
			}
		}
		seeds = append(seeds, row)
	}
	return seeds
}

// rank orders exit codes by how much they fail: 0, then no verdict, then a regression.
func rank(code int) int { return map[int]int{0: 0, 3: 1, 1: 2}[code] }

// settled reports whether the program itself was judged: any code but those of mistakes and of failures of the program.
func settled(code int) bool { return code == 0 || code == 1 || code == 3 }

// allPairs reports whether all pairs are tried, as in the step pairs of .ci/run: otherwise a sample, the same each
// time.
func allPairs() bool { return os.Getenv("NSGATE_PAIRS") == "all" }

// wantPairs starts a test of pairs. The step test of .ci/run has another one, which tries all of them.
func wantPairs(t *testing.T) {
	t.Helper()
	if full() && !allPairs() {
		t.Skip("the step pairs of .ci/run tries all of them")
	}
	t.Parallel()
}

// TestPairs judges recordings in every pair of settings, their sources, modes, subjects, ways to pass, places and
// formats, and holds the answers against invariants: nothing here knows an expected text.
func TestPairs(t *testing.T) {
	wantPairs(t)
	inputs, err := pairInputs()
	if err != nil {
		t.Fatal(err)
	}
	parameters := pairParameters()
	rows := covering(parameters, possiblePair(parameters), pairSeeds(parameters)...)
	all := len(rows)
	if !allPairs() {
		rows = rows[:min(len(rows), pairSample)]
	}
	if only := os.Getenv("NSGATE_PAIRS_ROWS"); only != "" { // from:to
		var from, to int
		fmt.Sscanf(only, "%d:%d", &from, &to)
		rows = covering(parameters, possiblePair(parameters), pairSeeds(parameters)...)[from:min(to, all)]
	}
	found := &violations{}
	lock := make(chan *violations, 1)
	lock <- found
	t.Run("rows", func(t *testing.T) {
		for part := range pairParts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				own := &violations{}
				for i := part; i < len(rows); i += pairParts {
					row := newPairRow(parameters, rows[i])
					b := &bench{newLab(t, own, row.String()), row, siteOf(row.place), inputs, nil}
					b.hold()
				}
				all := <-lock
				all.join(own)
				lock <- all
			})
		}
	})
	t.Logf("%d of %d rows", len(rows), all)
	(<-lock).report(t)
}

const (
	pairSample = 1  // rows of a usual test
	pairParts  = 12 // that run at the same time: they wait more than they compute
)

func (v *violations) join(other *violations) {
	if v.all == nil {
		v.all = map[string]*violation{}
	}
	for _, name := range other.order {
		if have := v.all[name]; have != nil {
			have.rows += other.all[name].rows
			continue
		}
		v.all[name] = other.all[name]
		v.order = append(v.order, name)
	}
}
