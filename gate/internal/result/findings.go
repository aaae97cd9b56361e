package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
)

// Findings are the comparisons of a report, worst first. Their JSON names each subject once: an object of the fields
// tagged `of:"subject"`, with the other fields of its comparisons as metrics, and with the places of these as at.
type Findings []Finding

// required are the numbers that JSON must hold of a metric: a missing one would be read as zero.
var required = [...]string{"base", "head", "change", "low", "high", "p", "mde", "limit", "floor"}

func (f *Finding) required() [len(required)]*Number {
	return [...]*Number{&f.Base, &f.Head, &f.Change, &f.Low, &f.High, &f.P, &f.MDE, &f.Limit, &f.Floor}
}

// forms are pointers to a Finding with the tags of a subject alone, and of its metrics.
var forms = sync.OnceValue(func() (all [2]reflect.Type) {
	for i := range all {
		fields := reflect.VisibleFields(reflect.TypeFor[Finding]())
		for j := range fields {
			if _, subject := fields[j].Tag.Lookup("of"); subject != (i == 0) {
				fields[j].Tag = `json:"-"`
			}
		}
		all[i] = reflect.PointerTo(reflect.StructOf(fields))
	}
	return all
})

func (f *Finding) as(form int) any { return reflect.ValueOf(f).Convert(forms()[form]).Interface() }

// MarshalJSON lists subjects in the order of their worst metrics.
func (l Findings) MarshalJSON() (_ []byte, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the encoder around this one decides that
	var subjects []string
	metrics, at, kept := map[string][]any{}, map[string][]int{}, map[string]*int{}
	for i, f := range l {
		if why := fmt.Sprint(f.Why()); f.Outcome.Kept() && kept[why] != nil {
			f.ReasonAt, f.Reason, f.ReasonKey, f.ReasonArgs = kept[why], "", "", nil
		} else if f.Outcome.Kept() {
			kept[why] = &i
		}
		b.Reset()
		err = cmp.Or(err, enc.Encode(f.as(0)))
		s := strings.TrimSuffix(b.String(), "}\n")
		if at[s] == nil {
			subjects = append(subjects, s)
		}
		metrics[s], at[s] = append(metrics[s], f.as(1)), append(at[s], i)
	}
	b.Reset()
	for _, s := range subjects {
		fmt.Fprintf(&b, `,%s,"at":%s,"metrics":`, s, strings.ReplaceAll(fmt.Sprint(at[s]), " ", ","))
		err = cmp.Or(err, enc.Encode(metrics[s]))
		b.WriteByte('}')
	}
	return fmt.Appendf(nil, "[%s]", bytes.TrimPrefix(b.Bytes(), []byte{','})), err
}

// UnmarshalJSON refuses a list with a gap, and a metric that lacks a number.
func (l *Findings) UnmarshalJSON(b []byte) error {
	var subjects []json.RawMessage
	err := json.Unmarshal(b, &subjects)
	all := map[int]Finding{}
	for _, text := range subjects {
		var subject Finding
		var list struct {
			At      []int
			Share   json.RawMessage
			Metrics []json.RawMessage
		}
		err = cmp.Or(err, json.Unmarshal(text, &list), json.Unmarshal(text, subject.as(0)))
		if n := len(list.Metrics); err == nil && (n == 0 || len(list.At) != n || list.Share == nil) {
			err = fmt.Errorf("a subject has no share, or %d metrics at %d places", n, len(list.At))
		}
		for i := 0; err == nil && i < len(list.At); i++ {
			f := subject
			for _, n := range f.required() {
				*n = Number(math.Inf(1)) // no number of JSON is infinite
			}
			err = json.Unmarshal(list.Metrics[i], f.as(1))
			for j, n := range f.required() {
				if err == nil && math.IsInf(float64(*n), 1) {
					err = fmt.Errorf("a metric has no %q", required[j])
				}
			}
			all[list.At[i]] = f
		}
	}
	*l = make(Findings, len(all))
	for i := range *l {
		f, ok := all[i]
		if !ok && err == nil {
			err = fmt.Errorf("no metric has the place %d", i)
		}
		if at := f.ReasonAt; at != nil {
			same := all[*at]
			f.Reason, f.ReasonKey, f.ReasonArgs, f.ReasonAt = same.Reason, same.ReasonKey, same.ReasonArgs, nil
		}
		(*l)[i] = f
	}
	return err
}
