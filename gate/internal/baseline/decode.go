package baseline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/measure"
)

// sessionScope is that of rows about the whole session.
const sessionScope = "session"

// The kinds of files.
const (
	recorded = "record"
	accepted = "accept"
	removal  = "remove"
)

// The keys of a subject that are no metrics.
const (
	nameKey       = "name"
	gridKey       = "grid"
	blockKey      = "block"
	supersedesKey = "supersedes"
)

// fileForm is the name of a file: the start to the minute, and the hash of its contents.
var fileForm = regexp.MustCompile(`^(\d{8}T\d{4}|unknown)-([0-9a-f]{8})\.csv$`)

// contentHash is the hash that stands in a file's name: of its lines, whatever ends them.
func contentHash(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:4])
}

func decodeEntry(dir, name string, text []byte) (Entry, error) {
	file := filepath.Join(dir, name)
	form := fileForm.FindStringSubmatch(name)
	if form == nil {
		return Entry{}, fmt.Errorf("%s is no file of a baseline, whose names are like 20261121T0151-1a2b3c4d.csv; move it elsewhere", file)
	}
	e, err := decodeRows(file, text)
	if err != nil {
		return Entry{}, err
	}
	if sum := contentHash(text); sum != form[2] {
		return Entry{}, fmt.Errorf("%s:1: the file was changed after it was written: its contents hash to %s; %w", file, sum, errDamaged)
	}
	e.ID, e.File = strings.TrimSuffix(name, suffix), file
	return e, nil
}

func decodeRows(file string, text []byte) (Entry, error) {
	rows, err := table(file, text)
	if err != nil {
		return Entry{}, err
	}
	var head []placed
	body := rows[:0]
	for _, r := range rows {
		if r.row.Scope == sessionScope {
			head = append(head, r)
		} else {
			body = append(body, r)
		}
	}
	e, err := decodeHead(file, head)
	if err != nil {
		return Entry{}, err
	}
	if body, err = takeCode(body, &e.Session); err != nil {
		return Entry{}, err
	}
	return e, e.decodeBody(file, body)
}

// decodeHead reads the rows about the whole.
func decodeHead(file string, rows []placed) (e Entry, err error) {
	c := cells{file: file, line: 1, lines: make(map[string]int)}
	said := make(map[string]string)
	for _, r := range rows {
		switch first := c.lines[r.row.Key]; {
		case !slices.ContainsFunc(headKeys, func(k headKey) bool { return k.name == r.row.Key }):
			r.cells.fail("key", "%q is unknown to this version of nsgate; use the version that wrote it", r.row.Key)
		case first > 0:
			r.cells.fail("key", "%s is already in line %d; remove one", r.row.Key, first)
		case r.row.Subject+r.row.Unit+r.row.Role+r.row.Note != "":
			r.cells.fail("key", "a row of the session has only a key and a value")
		}
		if r.cells.err != nil {
			return Entry{}, r.cells.err
		}
		said[r.row.Key] = r.row.Value
		c.lines[r.row.Key] = r.cells.line
	}
	what := said["what"]
	switch {
	case what != recorded && what != accepted && what != removal:
		c.fail("what", "%q is none of %s, %s and %s", what, recorded, accepted, removal)
	case (what == removal) != (said["removes"] != ""):
		c.fail("removes", "a file that takes another back names it, and no other file does")
	}
	for _, k := range headKeys {
		cell, ok := said[k.name]
		if ok && k.read != nil && (what != removal || slices.Contains(ofRemoval, k.name)) {
			k.read(&c, cell, &e)
		}
	}
	if what != removal {
		e.Accepted = what == accepted
		e.readRuns(&c, said)
	}
	e.lines = map[place]int{{metric: "gpu"}: c.lines["gpu"]}
	return e, c.err
}

// parseIDs reads names of sessions, separated by spaces.
func parseIDs(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	ids := strings.Split(s, " ")
	for _, id := range ids {
		if _, err := formed(isID, anID)(id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// subjectKey is how rows name a subject: ids are unique only within a scope.
type subjectKey struct{ scope, id string }

// decodeBody reads the rows of subjects.
func (e *Entry) decodeBody(file string, rows []placed) error {
	subjects, err := decodeSubjects(rows)
	if err != nil {
		return err
	}
	e.Replaces = make(map[measure.Subject][]string)
	e.Series = make([]model.Series, 0, len(rows))
	values := 0
	lines := make(map[place]int, len(e.lines)+len(rows))
	maps.Copy(lines, e.lines)
	e.lines = lines
	for i := range rows {
		r := &rows[i].row
		c := &rows[i].cells
		s := subjects[i].Subject
		switch r.Key {
		case nameKey, gridKey, blockKey:
			continue
		case supersedesKey:
			if len(e.Replaces[s]) > 0 {
				c.fail("key", "supersedes of %s is there twice; remove one", r.Subject)
			}
			if e.Replaces[s] = parse(c, "value", r.Value, parseIDs); len(e.Replaces[s]) == 0 {
				c.fail("value", "the cell is empty; name the sessions that are superseded")
			}
		default:
			x := r.series(c, s, &e.Session)
			at := place{s, x.Metric.Name}
			if first, twice := e.lines[at]; twice {
				c.fail("key", "%s of %s is already in line %d; remove one", r.Key, r.Subject, first)
			}
			e.lines[at] = c.line
			if values += len(x.Values); values > maxValues {
				c.fail("value", "the file holds more than %d values, the most that is read", maxValues)
			}
			e.Series = append(e.Series, x)
		}
		if c.err != nil {
			return c.err
		}
	}
	switch {
	case e.Removes != "" && len(rows) > 0:
		return fmt.Errorf("%s:%d: a file that takes another back has no rows of its own; remove them", file, rows[0].cells.line)
	case e.Removes == "" && len(e.Series) == 0 && len(e.Replaces) == 0:
		return fmt.Errorf("%s:1: no samples; restore the file from version control", file)
	}
	e.SortSeries()
	return nil
}

// decoded is the subject of some rows, as far as they were read.
type decoded struct {
	measure.Subject
	key                      subjectKey
	first                    *cells // of its first row
	named, hasGrid, hasBlock bool
}

// decodeSubjects reads which subjects the rows are about, row by row.
func decodeSubjects(rows []placed) (of []*decoded, err error) {
	of = make([]*decoded, len(rows))
	var all []*decoded
	out := make(map[subjectKey]*decoded)
	var last *decoded // the rows of a subject mostly stand together
	for i := range rows {
		r, c := &rows[i].row, &rows[i].cells
		key, s := subjectKey{r.Scope, r.Subject}, last
		if s == nil || s.key != key {
			s = out[key]
		}
		if s == nil {
			s = &decoded{key: key, first: c}
			if s.Subject = (measure.Subject{Scope: measure.Scope(r.Scope), Name: parse(c, "subject", r.Subject, unescape)}); !slices.Contains(measure.Scopes, s.Scope) {
				c.fail("scope", "%q is none of %s", r.Scope, scopes())
			}
			out[key] = s
		}
		said := false
		switch r.Key {
		case nameKey:
			s.Name, said, s.named = parse(c, "value", r.Value, unescape), s.named, true
		case gridKey:
			s.Grid, said, s.hasGrid = parse(c, "value", r.Value, measure.ParseDim3), s.hasGrid, true
		case blockKey:
			s.Block, said, s.hasBlock = parse(c, "value", r.Value, measure.ParseDim3), s.hasBlock, true
		}
		if said {
			c.fail("key", "%s of %s is there twice; remove one", r.Key, r.Subject)
		}
		if c.err != nil {
			return nil, c.err
		}
		if last = s; s.first == c {
			all = append(all, s)
		}
		of[i] = s
	}
	ids := make(map[measure.Subject]string, len(all))
	for _, s := range all {
		if other, twice := ids[s.Subject]; twice {
			s.first.fail("subject", "%s is the same as %s; remove one", s.key.id, other)
			return nil, s.first.err
		}
		ids[s.Subject] = s.key.id
	}
	return of, nil
}

// scopes lists the scopes that a row may have.
func scopes() string {
	var known []string
	for _, scope := range measure.Scopes {
		known = append(known, string(scope))
	}
	return strings.Join(known, ", ")
}

// series is the metric of a subject in a row.
func (r *row) series(c *cells, of measure.Subject, s *model.Session) model.Series {
	x := model.Series{Subject: of, Role: parse(c, "role", r.Role, unescape), Note: parse(c, "note", r.Note, unescape)}
	var known bool
	if x.Metric, known = measure.MetricByName(r.Key); !known {
		c.fail("key", "%q is no metric that this version of nsgate knows", r.Key)
	}
	if r.Unit != x.Metric.Unit {
		c.fail("unit", "%q is not the unit of %s, which is %s", r.Unit, r.Key, x.Metric.Unit)
	}
	if c.err == nil {
		x.Values = list(c, "value", r.Value, len(s.Runs), parseSample)
	}
	if c.err == nil && !slices.ContainsFunc(x.Values, func(v float64) bool { return !math.IsNaN(v) }) {
		c.fail("value", "no run has a value; remove the row")
	}
	if c.err == nil {
		if err := x.Check(len(s.Runs), s.Profiled()); err != nil {
			c.fail("value", "%w", err)
		}
	}
	return x
}
