// Package bench reads the files in which benchmark harnesses write what they measured in one process: one
// [measure.Subject] of scope benchmark for each row, with one value for each metric.
//
// A format is a filter of jq, which says of a file whether it is of its harness, and gives its rows. The unit of
// replication is the process: repetitions inside one give one value, the mean or median that the file states, else
// their median.
package bench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/judge/stats"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
	"github.com/nsgate/nsgate/gate/internal/result"
)

const (
	// largest is the size of a file in bytes up to which it is read.
	largest = 64 << 20
	// longest is the length of a row's name in bytes up to which it is read.
	longest = 1 << 10

	again = "write the file again with the harness"
)

// Sniff reports by the first bytes of a file whether it is of a harness. With json they must be JSON up to their end.
func Sniff(head []byte, json bool) bool {
	for _, size := range []int{4 << 10, len(head)} { // most are told by a few lines
		part := cells.Text(head[:min(len(head), size)])
		if json && !bytes.HasPrefix(part, []byte("{")) && !bytes.HasPrefix(part, []byte("[")) {
			return false
		}
		d, f, _ := detect(part, "", "")
		if f != nil && f != flat() && (!json || d.err == nil || d.err == errCut) {
			return true
		}
	}
	return false
}

// read reads a file of one process: a session for each load, the first of which has what is left out. own is the
// filter of the user, "" for the formats of harnesses; name is the path of the file, and stands for it in messages.
func read(text []byte, name, own string) ([]model.Session, error) {
	d, f, err := detect(cells.Text(text), name, own)
	switch {
	case err != nil:
		return nil, err
	case f == nil && d.err != nil && d.columns != nil:
		return nil, d.refusal(name, nil)
	case f == nil:
		return nil, model.Refuse(model.OtherFormat, flat().next,
			"%s is no file of a benchmark harness that nsgate knows", name)
	}
	r := &reading{file: name, next: f.next, own: own, loadOf: map[string]*load{}, taken: map[string]bool{},
		units: map[[3]string]unit{}, twins: measure.Either(f.twins, map[place]int{}, nil)}
	r.in.Tool = f.name
	r.begin(nil, true)
	beside, err := f.besideIt(name)
	if err != nil {
		return nil, err
	}
	code, err := f.rows()
	if err == nil {
		err = code.Run(d.value, func(row any) bool {
			r.take(row)
			return r.err == nil
		}, variables(d, name, beside)...)
	}
	switch kind := model.KindOf(r.err); {
	case d.err != nil && !slices.Contains([]model.Kind{model.OtherFormat, model.NoMeasurement, model.TooLarge}, kind):
		return nil, d.refusal(name, f)
	case err != nil && own == "":
		return nil, model.Refuse(model.BadValue, flat().next, "%s: a value is not of the form that %s writes", name,
			f.name)
	case err != nil:
		return nil, model.Refuse(model.BadValue, f.next, "%s: rows of %s: %v", name, f.name, err)
	case r.err != nil:
		return nil, r.err
	}
	if l := f.ledger(); l != nil {
		r.account(l, d.value)
	}
	return r.sessions()
}

// Unknown is the refusal of a file of [flat], or of results of several runs one behind the other, nil for any other.
func Unknown(text []byte, file string) error {
	d, f, _ := detect(text, file, "")
	if list, _ := d.value.([]any); f == nil && len(list) > 1 && formatOf(document{value: list[0]}, file) != nil {
		return model.Refuse(model.SeveralProcesses, "write each run into a file of its own",
			"%s holds several results", file)
	} else if f != flat() {
		return nil
	}
	_, err := read(text, file, "")
	return err
}

// sessions are the loads of the file. One that stands in it several times is of several processes.
func (r *reading) sessions() (out []model.Session, err error) {
	seen := map[string]bool{}
	for _, l := range r.loads {
		series := slices.DeleteFunc(l.series, func(x model.Series) bool {
			_, failed := r.failed.Number[x.Subject.Name]
			return failed
		})
		if len(series) == 0 {
			continue
		}
		for i := range series {
			series[i].Values = model.Values{stats.Median(series[i].Values)}
		}
		s := model.Session{Environment: r.in, Series: series,
			Runs: []model.Run{{Unprofiled: true, Steady: true, Start: r.start}}}
		s.Start, s.Mode = r.start, l.settings.String()
		out = append(out, s)
		maps.DeleteFunc(l.settings, func(name, _ string) bool { return model.Tallied(name) })
		same := l.settings.String()
		if seen[same] {
			return nil, model.Refuse(model.SeveralProcesses, "write each run into a file of its own",
				"%s holds several loads of the same settings (%s)", r.file, cmp.Or(same, "none are named"))
		}
		seen[same] = true
	}
	if len(out) > 0 {
		out[0].LeftOut = r.left.List
		return out, nil
	}
	var few []string
	for _, x := range r.left.List {
		if why, ok := strings.CutPrefix(x.Why, model.Failed); ok && len(few) < 3 {
			few = append(few, x.Name+result.Given(why, " (", strings.TrimPrefix(why, ": "), ")"))
		}
	}
	if failed := len(r.failed.List); failed > 0 {
		return nil, model.Refuse(model.WorkloadFailed, "mend the benchmark, or leave it out with a filter",
			"%s: %s failed: %s", r.file, measure.Count(failed, "benchmark"), strings.Join(few, ", "))
	}
	next := measure.Either(r.in.Tool == ownName, ownNext,
		"run the harness without a filter, or with one that selects a benchmark")
	return nil, model.Refuse(model.NoMeasurement, next, "%s holds no measurement of %s", r.file, r.in.Tool)
}

// Open reads the files of one process with the filter of the user, "" for those of harnesses. Rows of loads with other
// settings have these in their names.
func Open(own string, files ...string) (*model.Session, error) {
	var all []model.Session
	for _, name := range files {
		text, err := input.Read(name, largest)
		if errors.Is(err, input.ErrLarge) {
			return nil, model.Refuse(model.TooLarge, "write fewer rows into a file", "%v", err)
		}
		if err != nil {
			return nil, err
		}
		loads, err := read(text, name, own)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && loads[0].Tool != all[0].Tool {
			return nil, model.Refuse(model.MixedProfilers, "judge the results of one harness at a time",
				"%s is of %s, %s of %s", files[0], all[0].Tool, name, loads[0].Tool)
		}
		all = append(all, loads...)
	}
	return join(all, files[0])
}

// join makes one run of the loads of a process; file names it in messages.
func join(all []model.Session, file string) (*model.Session, error) {
	nameLoads(all)
	one := &all[0]
	for i := range all[1:] {
		if err := extend(one, &all[i+1]); err != nil {
			return nil, err
		}
	}
	nameSuites(one)
	for i := 1; i < len(one.Series); i++ {
		if a, b := &one.Series[i-1], &one.Series[i]; a.Subject == b.Subject && a.Metric == b.Metric {
			return nil, model.Refuse(model.SeveralProcesses,
				"put the results of each process into a directory of its own",
				"%s: two files of one run hold %s", filepath.Dir(file), measure.Quote(a.Subject.Name))
		}
	}
	return one, nil
}

// extend adds the rows of another file of the process.
func extend(all, by *model.Session) error {
	if setting, x, y := model.Unlike(all.Mode, by.Mode); setting != "" && !model.Tallied(setting) {
		return model.Refuse(model.RunsDiffer, "put the results of each load into a directory of its own",
			"files of one run differ in %s: %s and %s", setting, x, y)
	}
	all.Mode = model.JoinModes(all.Mode, by.Mode)
	all.LeaveOut(by.LeftOut...)
	all.Series = append(all.Series, by.Series...)
	if all.Start.IsZero() || !by.Start.IsZero() && by.Start.Before(all.Start) {
		all.Start, all.Runs[0].Start = by.Start, by.Start
	}
	return nil
}

// Row is the subject of a row.
func Row(name string) measure.Subject {
	return measure.Subject{Scope: measure.ScopeBenchmark, Name: name}
}

// telling are parts of names of settings, those first that name a load best.
var telling = []string{"model", "concurrency", "rate", "len", "tokens", "size", "batch"}

// nameLoads puts the settings that differ between files into the names of their rows, as few as tell them apart. It
// returns these settings, none where the files are of one load.
func nameLoads(files []model.Session) (chosen []string) {
	settings := measure.Map(files, func(s model.Session) model.Settings { return model.ParseSettings(s.Mode) })
	differ := func(name string) bool {
		first := settings[0][name]
		return slices.ContainsFunc(settings, func(s model.Settings) bool { return model.Differ(s[name], first) })
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

// Processes joins the files of a directory that are of one process. Files that differ in a setting are loads: those of
// a run are told by their names, else the first of each load are one run, then the second ones. Files without a common
// row, such as the groups of Criterion, are one run. Others are returned as they are. The settings are those of the
// loads.
func Processes(files []model.Session, names []string) (runs []model.Session, settings []string, err error) {
	for i := range files {
		if len(files[i].Series) == 0 || files[i].Series[0].Subject.Scope != measure.ScopeBenchmark ||
			files[i].Tool != files[0].Tool || files[i].GPUHash != files[0].GPUHash {
			return files, nil, nil
		}
	}
	if len(files) > 1 {
		settings = nameLoads(files)
	}
	type holders struct{ files, load int }
	seen := map[measure.Subject]holders{} // of a row
	places, loads := make([]int, len(files)), make([]int, len(files))
	for i := range files {
		loads[i] = i
		for _, s := range files[i].Series {
			if of, ok := seen[s.Subject]; ok {
				places[i], loads[i] = max(places[i], of.files), min(loads[i], of.load)
			}
		}
		for _, s := range files[i].Series {
			seen[s.Subject] = holders{places[i] + 1, loads[i]}
		}
	}
	if named := runsByName(names[:min(len(names), len(files))], loads); len(named) == len(files) {
		places = named
	}
	for i, run := range places {
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

// runsByName numbers the runs of files by the words and numbers of their names in which the files of a load differ. It
// is nil where most files have no partner in another load by these, as where names hold the time.
func runsByName(names []string, loads []int) []int {
	type word struct {
		load, nth int
		text      string
	}
	words, has, size := make([][]word, len(names)), map[word]int{}, map[int]int{}
	for i, name := range names {
		seen := map[string]int{}
		for _, text := range nameWord().FindAllString(name, -1) {
			seen[text]++
			w := word{loads[i], seen[text], text}
			words[i] = append(words[i], w)
			has[w]++
		}
		size[loads[i]]++
	}
	runs, numbers, members := make([]int, len(names)), map[string]int{}, map[string]int{}
	for i := range names {
		run := ""
		for _, w := range words[i] {
			if has[w] < size[w.load] {
				run += w.text + " "
			}
		}
		if _, known := numbers[run]; !known {
			numbers[run] = len(numbers)
		}
		member := fmt.Sprintf("/%d %s", loads[i], run)
		if members[run]++; members[member] > 0 {
			return nil
		}
		members[member], runs[i] = 1, numbers[run]
	}
	alone := func(run string) int { return measure.Either(members[run] == 1, 1, 0) }
	return measure.Either(2*measure.Sum(slices.Collect(maps.Keys(numbers)), alone) >= len(names), nil, runs)
}

var nameWord = input.Pattern(`[0-9]+|\pL+`)

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
// other cases: those of one name have a number, as of nth_of. The arguments are the suite before the name of a case
// without a class, and that of the rows. jq alone takes five times as long.
func tests(elements any, arguments []any) any {
	text := func(v any, name string) string {
		s, _ := v.(map[string]any)["attributes"].(map[string]any)[name].(string)
		return s
	}
	named := func(v any) string {
		suite := cmp.Or(text(v, "classname"), arguments[0].(string))
		return strings.TrimPrefix(suite+"."+text(v, "name"), ".")
	}
	cases := measure.Where(elements.([]any), func(v any) bool { return v.(map[string]any)["name"] == "testcase" })
	names := measure.Map(cases, named)
	seen, rows := make(map[string]int, len(cases)), make([]any, 0, len(cases)) // seen is one for a name that is given
	for _, name := range names {
		seen[name] = 1
	}
	for i, v := range cases {
		of, row := names[i], names[i]
		for sign := "#"; seen[of] > 1 && seen[row] > 0; sign += "#" {
			row = of + sign + strconv.Itoa(seen[of])
		}
		seen[of]++
		seconds, err := strconv.ParseFloat(strings.TrimSpace(text(v, "time")), 64)
		if err != nil || seconds == 0 || text(v, "status") != "" || len(v.(map[string]any)["elements"].([]any)) > 0 {
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
