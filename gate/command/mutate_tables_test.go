package command_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tableExport is a table of nsys stats: launches, or their sums.
type tableExport struct {
	head, rows        [][]string
	duration, n, name int // columns; n is -1 for single launches
	times             []int
	gone              map[int]bool
	again             []int
}

func openTable(file string) (export, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	x := &tableExport{head: all[:1], rows: all[1:], n: -1, gone: map[int]bool{}}
	for i, title := range all[0] {
		switch title {
		case "Duration (ns)", "Total Time (ns)":
			x.duration, x.times = i, append(x.times, i)
		case "Avg (ns)", "Min (ns)", "Max (ns)":
			x.times = append(x.times, i)
		case "Instances":
			x.n = i
		case "Name":
			x.name = i
		}
	}
	return x, nil
}

func (x *tableExport) launches() (out []launch) {
	for _, row := range x.rows {
		l := launch{n: 1}
		if x.name < len(row) {
			l.name = row[x.name]
		}
		l.ns, _ = strconv.ParseFloat(row[min(x.duration, len(row)-1)], 64)
		if x.n >= 0 {
			l.n, _ = strconv.ParseFloat(row[min(x.n, len(row)-1)], 64)
		}
		out = append(out, l)
	}
	return out
}

func (x *tableExport) remove(i int) { x.gone[i] = true }
func (x *tableExport) repeat(i int) { x.again = append(x.again, i) }

func (x *tableExport) scale(i int, factor float64) {
	row := x.rows[i]
	for _, c := range x.times {
		v, _ := strconv.ParseFloat(row[c], 64)
		row[c] = strconv.FormatFloat(math.Round(v*factor), 'f', -1, 64)
	}
	if x.n >= 0 { // as nsys prints it
		total, _ := strconv.ParseFloat(row[x.duration], 64)
		n, _ := strconv.ParseFloat(row[x.n], 64)
		row[slices.Index(x.head[0], "Avg (ns)")] = strconv.FormatFloat(total/n, 'f', 1, 64)
	}
}

func (x *tableExport) damage(r *rand.Rand) {
	row := x.rows[r.IntN(len(x.rows))]
	row[r.IntN(len(row))] = odd[r.IntN(len(odd))]
}

func (x *tableExport) save(file string, _ bool) error {
	var b bytes.Buffer
	b.WriteString(strings.Join(x.head[0], ",") + "\n")
	w := csv.NewWriter(&b)
	for i, row := range x.rows {
		if !x.gone[i] {
			w.Write(row)
		}
	}
	for _, i := range x.again {
		w.Write(x.rows[i])
	}
	w.Flush()
	return os.WriteFile(file, b.Bytes(), 0o600)
}

// savedExport is a report that nsgate saved: a row is a kernel in a session of the head.
type savedExport struct {
	file     map[string]any
	sessions []any
	rows     []savedRow
}

type savedRow struct {
	session map[string]any
	subject string // as JSON
	name    string
	series  map[string]map[string]any // by metric
}

func openReport(file string) (export, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	x := &savedExport{}
	if err := json.Unmarshal(text, &x.file); err != nil {
		return nil, err
	}
	packed, _ := x.file["head_sessions"].(string)
	unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err == nil {
		err = json.NewDecoder(unpacked).Decode(&x.sessions)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range x.sessions {
		session, _ := s.(map[string]any)
		all, _ := session["series"].([]any)
		found := map[string]int{}
		for _, one := range all {
			series, _ := one.(map[string]any)
			subject, _ := series["subject"].(map[string]any)
			metric, _ := series["metric"].(map[string]any)
			if subject["scope"] != "kernel" {
				continue
			}
			key, _ := json.Marshal(subject)
			i, ok := found[string(key)]
			if !ok {
				i = len(x.rows)
				found[string(key)] = i
				name, _ := subject["name"].(string)
				x.rows = append(x.rows, savedRow{session, string(key), name, map[string]map[string]any{}})
			}
			of, _ := metric["name"].(string)
			x.rows[i].series[of] = series
		}
	}
	return x, nil
}

func (x *savedExport) launches() (out []launch) {
	for _, row := range x.rows {
		out = append(out, launch{row.name, mean(row.series["total"]), mean(row.series["launches"])})
	}
	return out
}

// mean is that of the values of a series.
func mean(series map[string]any) (sum float64) {
	values, _ := series["values"].([]any)
	for _, v := range values {
		f, _ := v.(float64)
		sum += f / float64(len(values))
	}
	return sum
}

func (x *savedExport) remove(i int) {
	row := x.rows[i]
	all, _ := row.session["series"].([]any)
	row.session["series"] = slices.DeleteFunc(slices.Clone(all), func(one any) bool {
		subject, _ := json.Marshal(one.(map[string]any)["subject"])
		return string(subject) == row.subject
	})
}

func (x *savedExport) repeat(i int) {
	all, _ := x.rows[i].session["series"].([]any)
	for _, series := range x.rows[i].series {
		all = append(all, series)
	}
	x.rows[i].session["series"] = all
}

func (x *savedExport) scale(i int, factor float64) {
	for _, metric := range []string{"total", "time"} {
		values, _ := x.rows[i].series[metric]["values"].([]any)
		for j, v := range values {
			if f, ok := v.(float64); ok {
				values[j] = f * factor
			}
		}
	}
}

func (x *savedExport) damage(r *rand.Rand) {
	row := x.rows[r.IntN(len(x.rows))]
	var value any = odd[r.IntN(len(odd))]
	if f, err := strconv.ParseFloat(value.(string), 64); err == nil && !math.IsNaN(f) {
		value = f
	}
	metrics := []string{}
	for m := range row.series {
		metrics = append(metrics, m)
	}
	slices.Sort(metrics)
	values, _ := row.series[metrics[r.IntN(len(metrics))]]["values"].([]any)
	if len(values) > 0 {
		values[r.IntN(len(values))] = value
	}
}

// save writes the schema first, which identifies a report.
func (x *savedExport) save(file string, _ bool) error {
	schema, err := json.Marshal(x.file["schema"])
	if err != nil {
		return err
	}
	delete(x.file, "schema")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(z).Encode(x.sessions), z.Close()); err != nil {
		return err
	}
	x.file["head_sessions"] = packed.Bytes()
	rest, err := json.Marshal(x.file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, slices.Concat([]byte(`{"schema":`), schema, []byte(","), rest[1:]), 0o600)
}

// storedExport is a file of a baseline: a row is a metric of a kernel.
type storedExport struct {
	rows  [][]string
	at    []int // the totals of kernels among the rows
	gone  map[string]bool
	again []string
	stale bool // its name is that of what was in it
}

func openBaseline(file string) (export, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	x := &storedExport{gone: map[string]bool{}}
	if x.rows, err = csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil {
		return nil, err
	}
	for i, row := range x.rows {
		if row[0] == "kernel" && row[2] == "total" {
			x.at = append(x.at, i)
		}
	}
	return x, nil
}

// values are the numbers of a cell, those like "12*3" of several runs.
func (x *storedExport) values(cell string) (out []float64) {
	for _, word := range strings.Fields(cell) {
		value, times, repeated := strings.Cut(word, "*")
		v, err := strconv.ParseFloat(value, 64)
		n := 1
		if repeated {
			n, _ = strconv.Atoi(times)
		}
		for range min(n, 1000) {
			if err == nil {
				out = append(out, v)
			}
		}
	}
	return out
}

func (x *storedExport) launches() (out []launch) {
	average := func(cell string) (sum float64) {
		values := x.values(cell)
		for _, v := range values {
			sum += v / float64(len(values))
		}
		return sum
	}
	for _, i := range x.at {
		l := launch{name: x.rows[i][1], ns: average(x.rows[i][3])}
		for _, row := range x.rows {
			if row[0] == "kernel" && row[1] == l.name && row[2] == "launches" {
				l.n = average(row[3])
			}
		}
		out = append(out, l)
	}
	return out
}

func (x *storedExport) remove(i int) { x.gone[x.rows[x.at[i]][1]] = true }
func (x *storedExport) repeat(i int) { x.again = append(x.again, x.rows[x.at[i]][1]) }

func (x *storedExport) scale(i int, factor float64) {
	name := x.rows[x.at[i]][1]
	for _, row := range x.rows {
		if row[0] != "kernel" || row[1] != name || row[2] != "total" && row[2] != "time" {
			continue
		}
		var cells []string
		for _, v := range x.values(row[3]) {
			cells = append(cells, strconv.FormatFloat(math.Round(v*factor*1000)/1000, 'f', -1, 64))
		}
		row[3] = strings.Join(cells, " ")
	}
}

func (x *storedExport) damage(r *rand.Rand) {
	x.stale = true
	row := x.rows[r.IntN(len(x.rows))]
	row[r.IntN(len(row))] = odd[r.IntN(len(odd))]
}

// save gives the file the name that its new contents have, except where a value was damaged.
func (x *storedExport) save(file string, _ bool) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range x.rows {
		if row[0] == "kernel" && x.gone[row[1]] {
			continue
		}
		w.Write(row)
		if row[0] == "kernel" && slices.Contains(x.again, row[1]) {
			w.Write(row)
		}
	}
	w.Flush()
	if !x.stale {
		if err := os.Remove(file); err != nil {
			return err
		}
		sum := sha256.Sum256(b.Bytes())
		time, _, _ := strings.Cut(filepath.Base(file), "-")
		file = filepath.Join(filepath.Dir(file), fmt.Sprintf("%s-%x.csv", time, sum[:4]))
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}
