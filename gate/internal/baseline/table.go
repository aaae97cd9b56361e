package baseline

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gocarina/gocsv"

	"github.com/nsgate/nsgate/gate/measure"
)

// files are the contents of a baseline by file name.
type files map[string][]byte

// The rows. Every field is the text of its cell: gocsv maps columns to fields, and what a cell means is decided in
// one place below, since gocsv by itself reads an empty cell or a missing column as zero.
type (
	sessionRow struct {
		ID         string `csv:"id"`
		GPU        string `csv:"gpu"`
		GPUs       string `csv:"gpus"`
		Processes  string `csv:"processes"`
		GPUHash    string `csv:"gpu_hash"`
		Driver     string `csv:"driver"`
		CUDA       string `csv:"cuda"`
		Tool       string `csv:"tool"`
		Schema     string `csv:"schema"`
		Mode       string `csv:"mode"`
		GraphTrace string `csv:"graph_trace"`
		Tick       string `csv:"tick_ns"`
		Clock      string `csv:"clock_mhz"`
		Board      string `csv:"board_part_number"`
		VBIOS      string `csv:"vbios"`
		Memory     string `csv:"memory_clock_max_mhz"`
		Power      string `csv:"power_limit_w"`
		MIG        string `csv:"mig"`
		CPU        string `csv:"cpu"`
		Start      string `csv:"start"`
		Step       string `csv:"step"`
		Warmup     string `csv:"warmup"`
		Runs       string `csv:"runs"`
		Skipped    string `csv:"skipped"`
		Total      string `csv:"total"`
		Launches   string `csv:"launches"`
		Steady     string `csv:"steady"`
		Longest    string `csv:"longest_run_s"`
		Commit     string `csv:"commit"`
		Reason     string `csv:"reason"`
	}
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

// placed is a row with the place it came from.
type placed[Row any] struct {
	row   Row
	cells cells
}

// younger are columns that baselines written before them lack: their cells are empty there.
var younger = []string{"mode", "processes", "board_part_number", "vbios", "memory_clock_max_mhz", "power_limit_w", "mig", "cpu", "longest_run_s"}

// table reads the rows of one file. Columns may stand in any order, but each must be there once, and no other.
func table[Row any](dir, name string, data files) ([]placed[Row], error) {
	file, text := filepath.Join(dir, name), bytes.TrimPrefix(data[name], []byte("\uFEFF"))
	line := 0
	for l := range bytes.Lines(text) {
		line++
		for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if bytes.HasPrefix(l, []byte(mark)) {
				return nil, fmt.Errorf("%s:%d: a merge conflict is not resolved; keep the rows of both sides, or take one side", file, line)
			}
		}
	}
	reader := csv.NewReader(bytes.NewReader(text))
	um, err := gocsv.NewUnmarshaller(reader, *new(Row))
	if err != nil {
		return nil, syntax(file, err)
	}
	sorted := slices.Sorted(slices.Values(um.Headers))
	for i := range sorted {
		if i > 0 && sorted[i] == sorted[i-1] {
			return nil, fmt.Errorf("%s:1: column %q is there twice; remove one", file, sorted[i])
		}
	}
	for _, column := range um.MismatchedStructFields {
		if !slices.Contains(younger, column) {
			return nil, fmt.Errorf("%s:1: no column %q; restore the first line", file, column)
		}
	}
	if len(um.MismatchedHeaders) > 0 {
		return nil, fmt.Errorf("%s:1: unknown column %q; remove it, or use the version of nsgate that wrote it", file, um.MismatchedHeaders[0])
	}
	var rows []placed[Row]
	for {
		row, err := um.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, syntax(file, err)
		}
		line, _ := reader.FieldPos(0)
		rows = append(rows, placed[Row]{row.(Row), cells{file: file, line: line}})
	}
}

// syntax puts the place before an error of the CSV reader.
func syntax(file string, err error) error {
	var pe *csv.ParseError
	switch {
	case errors.As(err, &pe):
		return fmt.Errorf("%s:%d: %w", file, pe.Line, pe.Err)
	case err == io.EOF:
		return fmt.Errorf("%s:1: the file is empty; restore it from version control, or remove the directory and record again", file)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// maxRuns bounds what a cell may claim.
const maxRuns = 100_000

var (
	idForm    = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	hashForm  = regexp.MustCompile(`^([0-9a-f]{8})?$`)
	traceForm = regexp.MustCompile(`^(node|graph)?$`)
)

// formed is a parser for text of a fixed form.
func formed(form *regexp.Regexp, what string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !form.MatchString(s) {
			return "", fmt.Errorf("%q is not %s", s, what)
		}
		return s, nil
	}
}

// parseBoard keeps serial numbers and UUIDs out.
func parseBoard(s string) (string, error) {
	if s != "" && !measure.IsBoard(s) {
		return "", fmt.Errorf("%q is not a board's part number, such as 692-2G520-0282-001", s)
	}
	return s, nil
}

func (r *sessionRow) session(c *cells) measure.Session {
	s := measure.Session{
		ID: parse(c, "id", r.ID, formed(idForm, "a session id (letters, digits and hyphens)")),
		Environment: measure.Environment{
			GPU:        parse(c, "gpu", r.GPU, unescape),
			GPUs:       parse(c, "gpus", r.GPUs, parseCount),
			Processes:  parse(c, "processes", cmp.Or(r.Processes, "0"), parseCount),
			GPUHash:    parse(c, "gpu_hash", r.GPUHash, formed(hashForm, "eight hexadecimal digits")),
			Driver:     parse(c, "driver", r.Driver, unescape),
			CUDA:       parse(c, "cuda", r.CUDA, unescape),
			Tool:       parse(c, "tool", r.Tool, unescape),
			Schema:     parse(c, "schema", r.Schema, unescape),
			Mode:       parse(c, "mode", r.Mode, unescape),
			GraphTrace: parse(c, "graph_trace", r.GraphTrace, formed(traceForm, `"node", "graph" or empty`)),
			Tick:       parse(c, "tick_ns", r.Tick, parseNumber),
			ClockMHz:   parse(c, "clock_mhz", r.Clock, parseCount),
			Start:      parse(c, "start", r.Start, parseStart),
			Hardware: measure.Hardware{
				Board:     parse(c, "board_part_number", r.Board, parseBoard),
				VBIOS:     parse(c, "vbios", r.VBIOS, unescape),
				MemoryMHz: parse(c, "memory_clock_max_mhz", cmp.Or(r.Memory, "0"), parseCount),
				PowerW:    parse(c, "power_limit_w", cmp.Or(r.Power, "0"), parseCount),
				MIG:       parse(c, "mig", r.MIG, unescape),
				CPU:       parse(c, "cpu", r.CPU, unescape),
			},
		},
		Step:   parse(c, "step", r.Step, unescape),
		Warmup: parse(c, "warmup", r.Warmup, unescape),
		Commit: parse(c, "commit", r.Commit, unescape),
		Reason: parse(c, "reason", r.Reason, unescape),

		Longest: time.Duration(parse(c, "longest_run_s", cmp.Or(r.Longest, "0"), parseCount)) * time.Second,
	}
	n := parse(c, "runs", r.Runs, parseCount)
	if n < 1 || n > maxRuns {
		c.fail("runs", "a session has from 1 to %d runs, not %d", maxRuns, n)
		return s
	}
	skipped := list(c, "skipped", r.Skipped, n, traced(parseCount))
	total := list(c, "total", r.Total, n, traced(parseCount))
	launches := list(c, "launches", r.Launches, n, traced(parseCount))
	steady := list(c, "steady", r.Steady, n, traced(parseSteady))
	if c.err != nil {
		return s
	}
	for i := range n {
		untraced := steady[i] == nil
		if (skipped[i] == nil) != untraced || (total[i] == nil) != untraced || (launches[i] == nil) != untraced {
			c.fail("steady", "run %d is untraced (-) in some of skipped, total, launches and steady, and not in others", i+1)
			return s
		}
		if untraced {
			s.Runs = append(s.Runs, measure.Run{Untraced: true, Steady: true})
			continue
		}
		if i > 0 && s.Runs[i-1].Untraced {
			c.fail("steady", "run %d was traced and stands behind an untraced one (-); put the traced ones first", i+1)
			return s
		}
		s.Runs = append(s.Runs, measure.Run{Skipped: *skipped[i], Total: *total[i], Launches: *launches[i], Steady: *steady[i]})
	}
	return s
}

func newSessionRow(s *measure.Session) sessionRow {
	traced := func(word func(measure.Run) string) string {
		return join(s.Runs, func(r measure.Run) string {
			if r.Untraced {
				return missing
			}
			return word(r)
		})
	}
	counts := func(field func(measure.Run) int) string {
		return traced(func(r measure.Run) string { return strconv.Itoa(field(r)) })
	}
	return sessionRow{
		ID:  s.ID,
		GPU: escape(s.GPU), GPUs: strconv.Itoa(s.GPUs), Processes: strconv.Itoa(s.Processes), GPUHash: s.GPUHash,
		Driver: escape(s.Driver), CUDA: escape(s.CUDA), Tool: escape(s.Tool), Schema: escape(s.Schema),
		Mode: escape(s.Mode), GraphTrace: s.GraphTrace, Tick: formatNumber(s.Tick), Clock: strconv.Itoa(s.ClockMHz),
		Board: s.Board, VBIOS: escape(s.VBIOS), Memory: strconv.Itoa(s.MemoryMHz), Power: strconv.Itoa(s.PowerW), MIG: escape(s.MIG), CPU: escape(s.CPU),
		Start: formatStart(s.Start), Step: escape(s.Step), Warmup: escape(s.Warmup),
		Runs:     strconv.Itoa(len(s.Runs)),
		Skipped:  counts(func(r measure.Run) int { return r.Skipped }),
		Total:    counts(func(r measure.Run) int { return r.Total }),
		Launches: counts(func(r measure.Run) int { return r.Launches }),
		Steady:   traced(func(r measure.Run) string { return formatSteady(r.Steady) }),
		Commit:   escape(s.Commit), Reason: escape(s.Reason), Longest: strconv.Itoa(int(math.Ceil(s.Longest.Seconds()))),
	}
}

func (r *subjectRow) subject(c *cells) measure.Subject {
	s := measure.Subject{
		Scope: measure.Scope(r.Scope),
		Name:  parse(c, "name", r.Name, unescape),
		Grid:  parse(c, "grid", r.Grid, measure.ParseDim3),
		Block: parse(c, "block", r.Block, measure.ParseDim3),
	}
	if !slices.Contains(measure.Scopes, s.Scope) {
		var known []string
		for _, scope := range measure.Scopes {
			known = append(known, string(scope))
		}
		c.fail("scope", "%q is none of %s", r.Scope, strings.Join(known, ", "))
	}
	if r.Subject == "" {
		c.fail("subject", "the cell is empty; write the id that %s uses", samplesFile)
	}
	return s
}

// subjectKey is how samples.csv names a subject: ids are unique only within a scope.
type subjectKey struct{ scope, id string }

// decode makes sessions of files, the oldest first. dir is for messages.
func decode(dir string, data files) ([]measure.Session, error) {
	sessionRows, err := table[sessionRow](dir, sessionsFile, data)
	if err != nil {
		return nil, err
	}
	subjectRows, err := table[subjectRow](dir, subjectsFile, data)
	if err != nil {
		return nil, err
	}
	sampleRows, err := table[sampleRow](dir, samplesFile, data)
	if err != nil {
		return nil, err
	}

	sessions := make(map[string]*measure.Session)
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
		x := measure.Series{Role: parse(c, "role", r.Role, unescape), Note: parse(c, "note", r.Note, unescape)}
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
			if err := x.Check(len(s.Runs), s.Traced()); err != nil {
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
	out := make([]measure.Session, 0, len(sessions))
	for _, s := range sessions {
		out = append(out, *s)
	}
	slices.SortFunc(out, byAge)
	return out, nil
}

// byAge orders sessions by their start, those of unknown start first.
func byAge(a, b measure.Session) int {
	return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
}

// encode makes files of sessions, the same for every order in which sessions and series are given.
func encode(sessions []measure.Session) (files, error) {
	sessions = slices.SortedFunc(slices.Values(sessions), func(a, b measure.Session) int { return cmp.Compare(a.ID, b.ID) })
	type sample struct {
		measure.Series
		session string
	}
	var samples []sample
	var sessionRows []sessionRow
	subjects := make(map[measure.Subject]bool)
	for i := range sessions {
		s := &sessions[i]
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("session %q is not fit for a baseline: %w", s.ID, err)
		}
		sessionRows = append(sessionRows, newSessionRow(s))
		for _, x := range s.Series {
			if known, _ := measure.MetricByName(x.Metric.Name); known != x.Metric {
				return nil, fmt.Errorf("session %q: metric %q is not one of nsgate's", s.ID, x.Metric.Name)
			}
			samples = append(samples, sample{x, s.ID})
			subjects[x.Subject] = true
		}
	}
	slices.SortFunc(samples, func(a, b sample) int {
		return cmp.Or(a.Subject.Compare(b.Subject), cmp.Compare(a.Metric.Name, b.Metric.Name), cmp.Compare(a.session, b.session))
	})

	ids := make(map[measure.Subject]string)
	taken := make(map[subjectKey]bool)
	var subjectRows []subjectRow
	for _, s := range slices.SortedFunc(maps.Keys(subjects), measure.Subject.Compare) {
		key := subjectKey{string(s.Scope), shorten(s)}
		for n := 2; taken[key]; n++ {
			key.id = shorten(s) + "~" + strconv.Itoa(n)
		}
		taken[key], ids[s] = true, escape(key.id)
		subjectRows = append(subjectRows, subjectRow{key.scope, ids[s], formatExtent(s.Grid), formatExtent(s.Block), escape(s.Name)})
	}
	var sampleRows []sampleRow
	for _, x := range samples {
		sampleRows = append(sampleRows, sampleRow{
			string(x.Subject.Scope), ids[x.Subject], x.Metric.Name, x.Metric.Unit, x.session,
			join(x.Values, formatSample), escape(x.Role), escape(x.Note),
		})
	}

	data := make(files, len(fileNames))
	for name, rows := range map[string]any{sessionsFile: sessionRows, subjectsFile: subjectRows, samplesFile: sampleRows} {
		var b bytes.Buffer
		if err := gocsv.MarshalCSV(rows, gocsv.NewSafeCSVWriter(csv.NewWriter(&b))); err != nil {
			return nil, err
		}
		data[name] = b.Bytes()
	}
	// What could not be read back must not be written.
	if _, err := decode("", data); err != nil {
		return nil, fmt.Errorf("this session cannot be stored: %w", err)
	}
	return data, nil
}

// maxID is the length in bytes above which an id is cut.
const maxID = 80

// shorten is the subject's ID, cut where a name is so long that rows could not be read.
func shorten(s measure.Subject) string {
	id := s.ID()
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(s.Name + "\x00" + s.Geometry()))
	end := maxID - 12
	for end > 0 && !utf8.RuneStart(id[end]) {
		end--
	}
	return id[:end] + "…#" + hex.EncodeToString(sum[:4])
}
