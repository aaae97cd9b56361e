package baseline

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gocarina/gocsv"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// encodeEntry gives the name and the contents of an entry's file, independent of the order of its series.
func encodeEntry(e *Entry) (name string, text []byte, err error) {
	if e.Removes == "" {
		if err := e.Check(); err != nil {
			return "", nil, fmt.Errorf("this session is not fit for a baseline: %w", err)
		}
		for _, x := range e.Series {
			known, _ := measure.MetricByName(x.Metric.Name)
			known, _ = known.In(x.Metric.Unit)
			if known != x.Metric {
				return "", nil, fmt.Errorf("metric %q is not one of nsgate's", x.Metric.Name)
			}
		}
	}
	rows := slices.Concat(e.head(), e.body(), codeRows(e.Code), operationRows(e.Operations))
	var b bytes.Buffer
	if err := gocsv.MarshalCSV(rows, gocsv.NewSafeCSVWriter(csv.NewWriter(&b))); err != nil {
		return "", nil, err
	}
	// A row that could not be read back must not be written.
	if _, err := decode("session", b.Bytes(), nothing); err != nil {
		return "", nil, fmt.Errorf("this session cannot be stored: %w", err)
	}
	return nameOf(e, b.Bytes()), b.Bytes(), nil
}

func nameOf(e *Entry, text []byte) string {
	start := "unknown"
	if !e.Start.IsZero() {
		start = e.Start.UTC().Format("20060102T1504")
	}
	return start + "-" + contentHash(text) + suffix
}

func (e *Entry) body() (out []row) {
	of := make(map[measure.Subject][]model.Series)
	for _, x := range e.Series {
		of[x.Subject] = append(of[x.Subject], x)
	}
	for s := range e.Replaces {
		of[s] = append(of[s], nil...)
	}
	taken := make(map[subjectKey]bool)
	for _, s := range slices.SortedFunc(maps.Keys(of), measure.Subject.Compare) {
		key := subjectKey{string(s.Scope), shorten(s)}
		for n := 2; taken[key]; n++ {
			key.id = shorten(s) + "~" + strconv.Itoa(n)
		}
		taken[key] = true
		r := row{Scope: key.scope, Subject: escape(key.id)}
		add := func(key, value string) {
			r.Key, r.Value = key, value
			out = append(out, r)
		}
		if key.id != s.Name {
			add(nameKey, escape(s.Name))
		}
		if s.Grid != (measure.Dim3{}) {
			add(gridKey, s.Grid.String())
		}
		if s.Block != (measure.Dim3{}) {
			add(blockKey, s.Block.String())
		}
		if ids := e.Replaces[s]; len(ids) > 0 {
			add(supersedesKey, strings.Join(ids, " "))
		}
		measure.Sort(of[s], func(a, b model.Series) int { return cmp.Compare(a.Metric.Name, b.Metric.Name) })
		for _, x := range of[s] {
			out = append(out, row{
				r.Scope, r.Subject, x.Metric.Name, join(x.Values, formatSample), x.Metric.Unit, escape(x.Role),
				escape(x.Note),
			})
		}
	}
	return out
}

// maxID is the length in bytes above which an id is cut.
const maxID = 80

// shorten is a subject's id in a file: a kernel's ID, any other's name, cut where it is too long to be read.
func shorten(s measure.Subject) string {
	id := s.Name
	if s.Scope == measure.ScopeKernel {
		id = s.ID()
	}
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
