package baseline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/large"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// The format of earlier versions has three tables for all sessions of a baseline: sessions.csv, subjects.csv with the short ids of
// subjects, and samples.csv with one row a subject, metric and session. It is read, and [Migrate] rewrites it.
const (
	subjectsFile = "subjects.csv"
	samplesFile  = "samples.csv"
	sessionsFile = "sessions.csv"
)

var fileNames = [...]string{subjectsFile, samplesFile, sessionsFile}

// files are the contents of such a baseline by file name.
type files map[string][]byte

// The rows, as for [row].
type (
	subjectRow struct {
		Scope   string `csv:"scope"`
		Subject string `csv:"subject"`
		Grid    string `csv:"grid"`
		Block   string `csv:"block"`
		Name    string `csv:"name"`
	}
	sampleRow struct {
		Scope   string `csv:"scope"`
		Subject string `csv:"subject"`
		Metric  string `csv:"metric"`
		Unit    string `csv:"unit"`
		Session string `csv:"session"`
		Values  string `csv:"values"`
		Role    string `csv:"role"`
		Note    string `csv:"note"`
	}
)

func (r *subjectRow) subject(c *cells) measure.Subject {
	s := measure.Subject{
		Scope: measure.Scope(r.Scope),
		Name:  parse(c, "name", r.Name, unescape),
		Grid:  parse(c, "grid", r.Grid, measure.ParseDim3),
		Block: parse(c, "block", r.Block, measure.ParseDim3),
	}
	if !slices.Contains(measure.Scopes, s.Scope) {
		c.fail("scope", "%q is none of %s", r.Scope, scopes())
	}
	if r.Subject == "" {
		c.fail("subject", "the cell is empty; write the id that %s uses", samplesFile)
	}
	return s
}

// loadLegacy makes sessions of the tables, all of which must be there.
func loadLegacy(dir string, data files) ([]model.Session, error) {
	for _, name := range fileNames {
		if data[name] == nil {
			present := slices.Sorted(maps.Keys(data))[0]
			return nil, fmt.Errorf("%s is missing beside %s; restore it from version control, or remove the directory and record again",
				filepath.Join(dir, name), present)
		}
	}
	return decode(dir, data)
}

// decode makes sessions of files, the oldest first. dir is for messages.
func decode(dir string, data files) ([]model.Session, error) {
	sessionRows, err := table[sessionRow](filepath.Join(dir, sessionsFile), data[sessionsFile])
	if err != nil {
		return nil, err
	}
	subjectRows, err := table[subjectRow](filepath.Join(dir, subjectsFile), data[subjectsFile])
	if err != nil {
		return nil, err
	}
	sampleRows, err := table[sampleRow](filepath.Join(dir, samplesFile), data[samplesFile])
	if err != nil {
		return nil, err
	}

	sessions := make(map[string]*model.Session)
	for i := range sessionRows {
		r := &sessionRows[i]
		s := r.row.session(&r.cells)
		if sessions[s.ID] != nil {
			r.cells.fail("id", "session %s is there twice; remove one", s.ID)
		}
		if first := sessionRows[0]; r.row.GPU != first.row.GPU {
			r.cells.fail("gpu", "%q is another model than %q in line %d; a baseline is for one model of GPU", s.GPU, first.row.GPU, first.cells.line)
		}
		if r.cells.err != nil {
			return nil, r.cells.err
		}
		sessions[s.ID] = &s
	}
	if len(sessions) == 0 {
		return nil, fmt.Errorf("%s:1: no session; remove the directory and record again", filepath.Join(dir, sessionsFile))
	}

	subjects := make(map[subjectKey]measure.Subject)
	ids := make(map[measure.Subject]string)
	for i := range subjectRows {
		r := &subjectRows[i]
		s, key := r.row.subject(&r.cells), subjectKey{r.row.Scope, r.row.Subject}
		if _, twice := subjects[key]; twice {
			r.cells.fail("subject", "%s %s is there twice; remove one", key.scope, key.id)
		}
		if other, twice := ids[s]; twice {
			r.cells.fail("name", "%s is the same as %s; remove one", key.id, other)
		}
		if r.cells.err != nil {
			return nil, r.cells.err
		}
		subjects[key], ids[s] = s, key.id
	}

	type sampleKey struct {
		subjectKey
		metric, session string
	}
	seen := make(map[sampleKey]int)
	used := make(map[subjectKey]bool)
	for i := range sampleRows {
		r, c := sampleRows[i].row, &sampleRows[i].cells
		key := sampleKey{subjectKey{r.Scope, r.Subject}, r.Metric, r.Session}
		x := model.Series{Role: parse(c, "role", r.Role, unescape), Note: parse(c, "note", r.Note, unescape)}
		var known bool
		if x.Subject, known = subjects[key.subjectKey]; !known {
			c.fail("subject", "%s %q has no row in %s", r.Scope, r.Subject, subjectsFile)
		}
		if x.Metric, known = measure.MetricByName(r.Metric); !known {
			c.fail("metric", "%q is unknown to this version of nsgate", r.Metric)
		}
		if r.Unit != x.Metric.Unit {
			c.fail("unit", "%q is not the unit of %s, which is %s", r.Unit, r.Metric, x.Metric.Unit)
		}
		s := sessions[r.Session]
		if s == nil {
			c.fail("session", "%q has no row in %s", r.Session, sessionsFile)
		}
		if first, twice := seen[key]; twice {
			c.fail("subject", "%s %s of session %s is already in line %d; remove one", r.Subject, r.Metric, r.Session, first)
		}
		if c.err == nil {
			x.Values = list(c, "values", r.Values, len(s.Runs), parseSample)
		}
		if !slices.ContainsFunc(x.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			c.fail("values", "no run has a value; remove the row")
		}
		if c.err == nil {
			if err := x.Check(len(s.Runs), s.Profiled()); err != nil {
				c.fail("values", "%w", err)
			}
		}
		if c.err != nil {
			return nil, c.err
		}
		seen[key] = c.line
		used[key.subjectKey] = true
		s.Series = append(s.Series, x)
	}
	for i := range subjectRows {
		r := &subjectRows[i]
		if key := (subjectKey{r.row.Scope, r.row.Subject}); !used[key] {
			r.cells.fail("subject", "%s %q has no row in %s; remove it here too", key.scope, key.id, samplesFile)
			return nil, r.cells.err
		}
	}
	for i := range sessionRows {
		r := &sessionRows[i]
		s := sessions[r.row.ID]
		if len(s.Series) == 0 {
			r.cells.fail("id", "session %s has no row in %s; remove it here too", s.ID, samplesFile)
			return nil, r.cells.err
		}
		s.SortSeries()
	}
	out := make([]model.Session, 0, len(sessions))
	for _, s := range sessions {
		out = append(out, *s)
	}
	large.Sort(out, byAge)
	return out, nil
}

// byAge orders sessions by their start, those of unknown start first.
func byAge(a, b model.Session) int {
	return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
}
