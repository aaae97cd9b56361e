package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// telling are parts of names of settings, those first that name a load best.
var telling = []string{"model", "concurrency", "rate", "len", "tokens", "size", "batch"}

// nameLoads puts the settings that differ between files into the names of their rows, as few as tell them apart. It
// returns these settings, none where the files are of one load.
func nameLoads(files []model.Session) (chosen []string) {
	settings := measure.Map(files, func(s model.Session) model.Settings { return model.ParseSettings(s.Mode) })
	differ := func(name string) bool {
		return slices.ContainsFunc(settings, func(s model.Settings) bool { return s[name] != settings[0][name] })
	}
	differing := slices.DeleteFunc(slices.Sorted(maps.Keys(settings[0])), func(name string) bool {
		return model.Tallied(name) || !differ(name) ||
			slices.ContainsFunc(settings, func(s model.Settings) bool { return s[name] == "" })
	})
	order := func(name string) int {
		i := slices.IndexFunc(telling, func(part string) bool { return strings.Contains(name, part) })
		return (i + len(telling) + 1) % (len(telling) + 1)
	}
	measure.Sort(differing, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	label := func(s model.Settings, names []string) string {
		return strings.Join(measure.Map(names, func(name string) string { return name + "=" + s[name] }), " ")
	}
	loads := func(names []string) int {
		labels := map[string]bool{}
		for _, s := range settings {
			labels[label(s, names)] = true
		}
		return len(labels)
	}
	for _, name := range differing {
		if more := append(slices.Clone(chosen), name); loads(more) > max(loads(chosen), 1) {
			chosen = more
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	for i := range files {
		of, rest := label(settings[i], chosen), model.Settings{}
		for name, value := range settings[i] {
			switch {
			case slices.Contains(chosen, name):
			case differ(name):
				rest[strings.ReplaceAll(of, " ", ",")+"/"+name] = value
			default:
				rest[name] = value
			}
		}
		files[i].Mode = rest.String()
		for j := range files[i].Series {
			files[i].Series[j].Subject.Name = of + " " + files[i].Series[j].Subject.Name
		}
	}
	return chosen
}

// Processes joins the files of a directory that are of one process. Files that differ in a setting are loads: the first
// of each load are one run, then the second ones. Files without a common row, such as the groups of Criterion, are one
// run. Others are returned as they are. The settings are those of the loads.
func Processes(files []model.Session) (runs []model.Session, settings []string, err error) {
	for i := range files {
		if len(files[i].Series) == 0 || files[i].Series[0].Subject.Scope != measure.ScopeBenchmark ||
			files[i].Tool != files[0].Tool || files[i].GPUHash != files[0].GPUHash {
			return files, nil, nil
		}
	}
	if len(files) > 1 {
		settings = nameLoads(files)
	}
	seen := map[measure.Subject]int{} // files that hold a row
	for i := range files {
		run := 0
		for _, s := range files[i].Series {
			run = max(run, seen[s.Subject])
		}
		for _, s := range files[i].Series {
			seen[s.Subject] = run + 1
		}
		if run == len(runs) {
			runs = append(runs, files[i])
		} else if err := extend(&runs[run], &files[i]); err != nil {
			return nil, nil, err
		}
	}
	if settings == nil && len(runs) > 1 {
		return files, nil, nil
	}
	for i := range runs {
		runs[i].SortSeries()
	}
	return runs, settings, nil
}

// nameSuites sorts the rows of a session, and puts the suite before the names of tests that several suites of JUnit
// have.
func nameSuites(s *model.Session) {
	s.SortSeries()
	for from, to := 0, 0; from < len(s.Series); from = to {
		several := false
		for to = from; to < len(s.Series) && s.Series[to].Subject == s.Series[from].Subject; to++ {
			several = several || s.Series[to].Role != s.Series[from].Role
		}
		for i := from; i < to && several; i++ {
			x := &s.Series[i]
			x.Subject.Name, x.Role = InSuite(x.Role, x.Subject.Name), ""
		}
	}
	s.SortSeries()
}

// tests gives the rows of the test cases among elements of JUnit that have a time and nothing in them, and names the
// other cases: those of one name have a number. The arguments are the suite before the name of a case without a class,
// and that of the rows. jq alone takes five times as long.
func tests(elements any, arguments []any) any {
	seen, rows := map[string]int{}, []any{}
	for _, v := range elements.([]any) {
		v := v.(map[string]any)
		if v["name"] != "testcase" {
			continue
		}
		attributes := v["attributes"].(map[string]any)
		text := func(name string) string { s, _ := attributes[name].(string); return s }
		row := strings.TrimPrefix(cmp.Or(text("classname"), arguments[0].(string))+"."+text("name"), ".")
		seen[row]++
		if n := seen[row]; n > 1 {
			row += fmt.Sprintf("#%d", n)
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(text("time")), 64)
		if err != nil || seconds == 0 || text("status") != "" || len(v["elements"].([]any)) > 0 {
			rows = append(rows, map[string]any{"row": row, "case": v})
		} else {
			rows = append(rows, map[string]any{"row": row, "metric": "duration", "unit": "s", "suite": arguments[1],
				"value": seconds})
		}
	}
	return rows
}

// InSuite is the name of a test with its suite.
func InSuite(suite, test string) string { return suite + "/" + test }
