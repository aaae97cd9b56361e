package baseline

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
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

var noMetrics = []string{nameKey, gridKey, blockKey, supersedesKey}

// fileForm is the name of a file: the start to the minute, and the hash of its contents.
var fileForm = input.Pattern(`^(\d{8}T\d{4}|unknown)-([0-9a-f]{8})\.csv$`)

// IsFile reports whether a name is that of a session's file.
func IsFile(name string) bool { return fileForm().MatchString(name) }

// contentHash is the hash that stands in a file's name: of its lines, whatever ends them.
func contentHash(text []byte) string {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// decodeEntry checks the name and the hash of a file and decodes it.
func decodeEntry(dir, name string, text []byte, lacks lack) (e Entry, err error) {
	file := filepath.Join(dir, name)
	form := fileForm().FindStringSubmatch(name)
	if form == nil {
		return Entry{}, fmt.Errorf("%s is no file of a baseline, whose names are like 20261121T0151-1a2b3c4d.csv; "+
			"move it elsewhere", file)
	}
	// The hash is checked before the rows, so that an edited file is named as such.
	if sum := contentHash(text); sum == form[2] {
		e, err = decode(file, text, lacks)
	} else {
		err = fmt.Errorf("%s:1: the file was changed after it was written: its contents hash to %s; "+
			"restore it from version control; what was measured anew is recorded into a file of its own", file, sum)
	}
	switch line := conflict(text); {
	case err == nil:
	case bytes.HasPrefix(text, []byte(model.LFSPointer)):
		err = fmt.Errorf("%s:1: a Git LFS pointer, not the file itself; fetch it with git lfs pull", file)
	case line > 0:
		err = fmt.Errorf("%s:%d: a merge conflict is not resolved, and rows of both sides are nothing that was "+
			"measured; take the file of one side whole, and record what was merged", file, line)
	}
	e.ID, e.File = strings.TrimSuffix(name, suffix), file
	return e, err
}

// decodeFirst decodes the rows about the whole session, which come first.
func decodeFirst(file string, text []byte) (Entry, error) {
	end := 0
	for line := range bytes.Lines(text) {
		if end > 0 && !bytes.HasPrefix(line, []byte(sessionScope+",")) {
			break
		}
		end += len(line)
	}
	rows, err := table(file, text[:end], nil)
	if err != nil {
		return Entry{}, err
	}
	return decodeHead(file, rows)
}

// spareRows are the memory of rows that are decoded.
var spareRows = sync.Pool{New: func() any { return new([]placed) }}

// decode decodes a file but for what the entry may lack: the bodies only of a recorded session.
func decode(file string, text []byte, lacks lack) (Entry, error) {
	if lacks == bodies {
		if e, err := decodeFirst(file, text); err == nil && e.Kind() == recorded {
			e.lacks = bodies
			return e, nil
		}
		lacks = nothing
	}
	spare := spareRows.Get().(*[]placed)
	defer spareRows.Put(spare)
	rows, err := table(file, text, *spare)
	if err != nil {
		return Entry{}, err
	}
	*spare = rows
	var head []placed
	var kernels []devicecode.Kernel
	var operations []model.Operation
	body, code, others := rows[:0], cells{file: file}, cells{file: file}
	for _, r := range rows {
		code.line, others.line = r.line, r.line
		switch r.Scope {
		case sessionScope:
			head = append(head, r)
		case codeScope:
			kernels = append(kernels, r.kernel(&code))
		case operationScope:
			operations = append(operations, r.operation(&others))
		default:
			body = append(body, r)
		}
	}
	e, err := decodeHead(file, head)
	if err != nil {
		return Entry{}, err
	}
	if err := cmp.Or(code.err, others.err); err != nil {
		return Entry{}, err
	}
	e.Code, e.Operations, e.lacks = kernels, operations, lacks
	return e, e.decodeBody(file, body)
}

func decodeHead(file string, rows []placed) (e Entry, err error) {
	c := cells{file: file, line: 1}
	said := make(map[string]placed)
	for _, r := range rows {
		if !slices.ContainsFunc(headKeys, func(k headKey) bool { return k.name == r.Key }) {
			c.line = r.line
			c.fail("key", "%q is unknown to this version of nsgate; use the version that wrote it", r.Key)
			return Entry{}, c.err
		}
		said[r.Key] = r
	}
	what := said["what"].Value
	switch {
	case what != recorded && what != accepted && what != removal:
		c.fail("what", "%q is none of %s, %s and %s", what, recorded, accepted, removal)
	case (what == removal) != (said["removes"].Value != ""):
		c.fail("removes", "a file that takes another back names it, and no other file does")
	}
	for _, k := range headKeys {
		r, ok := said[k.name]
		if ok && k.read != nil && (what != removal || slices.Contains(ofRemoval, k.name)) {
			c.line = r.line
			k.read(&c, r.Value, &e)
		}
	}
	c.line = 1
	if what != removal {
		e.Accepted = what == accepted
		e.readRuns(&c, said)
	}
	return e, c.err
}

func parseIDs(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	ids := strings.Split(s, " ")
	for _, id := range ids {
		if _, err := parseID(id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// subjectKey is how rows name a subject: ids are unique only within a scope.
type subjectKey struct{ scope, id string }

// drifts are the metrics of kernels by which drift is judged, and whether a session and a head did the same work.
var drifts = []string{measure.Launches.Name, measure.Time.Name, measure.Total.Name, measure.ReplayTime.Name}

// decodeBody reads the rows of subjects: those of one stand together, and its name and geometry come first.
func (e *Entry) decodeBody(file string, rows []placed) error {
	e.Replaces = make(map[measure.Subject][]string)
	left := func(r *row) bool {
		return e.lacks == details && r.Scope == string(measure.ScopeKernel) && !slices.Contains(drifts, r.Key)
	}
	n, values, subjects := 0, 0, 0
	for i := range rows {
		if r := &rows[i].row; !slices.Contains(noMetrics, r.Key) && !left(r) {
			n++
		}
	}
	e.Series = make([]model.Series, 0, n)
	var s measure.Subject
	var of subjectKey
	c, metrics := &cells{file: file}, []measure.Metric(nil)
	for i := range rows {
		r := &rows[i].row
		c.line = rows[i].line
		if key := (subjectKey{r.Scope, r.Subject}); key != of {
			of = key
			if subjects == maxSubjects {
				c.fail("subject", "the file holds more than %d subjects, the most that is read; restore it from "+
					"version control, or record fewer kernels", maxSubjects)
				return c.err
			}
			subjects++
			s = r.subject(c)
		}
		switch r.Key {
		case nameKey:
			s.Name = parse(c, "value", r.Value, unescape)
		case gridKey:
			s.Grid = parse(c, "value", r.Value, measure.ParseDim3)
		case blockKey:
			s.Block = parse(c, "value", r.Value, measure.ParseDim3)
		case supersedesKey:
			e.Replaces[s] = parse(c, "value", r.Value, parseIDs)
			if len(e.Replaces[s]) == 0 {
				c.fail("value", "the cell is empty; name the sessions that are superseded")
			}
		default:
			if left(r) {
				continue
			}
			x := r.series(c, s, len(e.Runs), &metrics)
			values += len(x.Values)
			if values > maxValues {
				c.fail("value", "the file holds more than %d values, the most that is read; restore it from version "+
					"control, or record fewer runs", maxValues)
			}
			e.Series = append(e.Series, x)
		}
		if c.err != nil {
			return c.err
		}
	}
	e.SortSeries()
	return e.complete(file, rows)
}

// subject is that of the first row of a subject, whose name may stand in this row or the next.
func (r *row) subject(c *cells) measure.Subject {
	s := measure.Subject{Scope: measure.Scope(r.Scope)}
	if r.Key != nameKey {
		s.Name = parse(c, "subject", r.Subject, unescape)
	}
	if at := slices.Index(measure.Scopes, s.Scope); at >= 0 {
		s.Scope = measure.Scopes[at] // without the text of the file
	} else {
		all := measure.Map(measure.Scopes, func(s measure.Scope) string { return string(s) })
		c.fail("scope", "%q is none of %s", r.Scope, strings.Join(all, ", "))
	}
	return s
}

// complete refuses an entry that holds too little, or rows that it may not have.
func (e *Entry) complete(file string, rows []placed) error {
	if e.Removes != "" {
		if len(rows) > 0 {
			return fmt.Errorf("%s:%d: a file that takes another back has no rows of its own", file, rows[0].line)
		}
		return nil
	}
	if len(e.Series) == 0 && len(e.Replaces) == 0 {
		return fmt.Errorf("%s:1: no samples; restore the file from version control", file)
	}
	if err := e.Check(); err != nil {
		return fmt.Errorf("%s:1: %w", file, err)
	}
	return nil
}

// series is the metric of a subject in a row, with a value for each run. known are metrics of rows before.
func (r *row) series(c *cells, of measure.Subject, runs int, known *[]measure.Metric) model.Series {
	x := model.Series{Subject: of}
	if r.Role != "" {
		x.Role = parse(c, "role", r.Role, unescape)
	}
	if r.Note != "" {
		x.Note = parse(c, "note", r.Note, unescape)
	}
	same := func(m measure.Metric) bool { return m.Name == r.Key && m.Unit == r.Unit }
	if at := slices.IndexFunc(*known, same); at >= 0 {
		x.Metric = (*known)[at]
	} else {
		var ok bool
		if x.Metric, ok = measure.MetricByName(strings.Clone(r.Key)); !ok {
			c.fail("key", "%q is no metric that this version of nsgate knows", r.Key)
		}
		if x.Metric, ok = x.Metric.In(strings.Clone(r.Unit)); !ok {
			c.fail("unit", "%q is not the unit of %s, which is %s", r.Unit, r.Key, x.Metric.Unit)
		}
		*known = append(*known, x.Metric)
	}
	x.Values = list(c, "value", r.Value, runs, parseSample)
	return x
}
