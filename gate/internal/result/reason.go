package result

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Remark is one statement, as data: its key and its arguments.
type Remark struct {
	// Key names the statement; it stays the same from release to release.
	Key      string `json:"key"`
	Args     Args   `json:"args,omitempty"`
	Sentence string `json:"sentence,omitempty"`
	// Next is the next step of a refusal.
	Next string `json:"next,omitempty"`
}

// Narrowest leaves out patterns whose place a later one names too: the idle time of one place is one pattern to say.
func Narrowest(all []Remark) (out []Remark) {
	for i, r := range all {
		where, _ := r.Args["where"].(string)
		if where == "" || !slices.ContainsFunc(all[i+1:], func(o Remark) bool { return o.Args["where"] == where }) {
			out = append(out, r)
		}
	}
	return out
}

// Args are the arguments of a [Remark] by name: a string, a []string, or a Number. Shares and changes are fractions,
// amounts in the unit of the argument "unit", else in the unit of the metric.
type Args map[string]any

// UnmarshalJSON reads numbers as [Number] and lists as []string.
func (a *Args) UnmarshalJSON(b []byte) error {
	var in map[string]any
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*a = in
	for name, value := range in {
		switch v := value.(type) {
		case nil:
			in[name] = Unknown
		case float64:
			in[name] = Number(v)
		case []any:
			list := make([]string, len(v))
			for i := range v {
				list[i], _ = v[i].(string)
			}
			in[name] = list
		}
	}
	return nil
}

// Reason says why something is so. Its key is that of its row (see [Keyed]); its arguments are its exported fields:
// strings, lists of strings, booleans and numbers.
type Reason interface{ String() string }

// Say stores a reason with its sentence.
func Say(r Reason) Remark {
	if x, ok := r.(plain); ok {
		return Remark{Key: x.Key(), Sentence: r.String()}
	}
	v := reflect.ValueOf(r)
	key, ok := keyOf[v.Type()]
	if !ok {
		panic(fmt.Sprintf("the reason %T has no row with its key", r))
	}
	x := Remark{Key: key, Sentence: r.String()}
	all := fieldsOf(v.Type())
	if len(all) > 0 {
		x.Args = make(Args, len(all))
	}
	for _, f := range all {
		switch v := v.FieldByIndex(f.index).Interface().(type) {
		case int:
			x.Args[f.name] = Number(v)
		default:
			x.Args[f.name] = v
		}
	}
	return x
}

// As is the reason of a remark, with the arguments that it was said with; false where the remark has another reason.
func As[R Reason](x Remark) (r R, ok bool) {
	v := reflect.ValueOf(&r).Elem()
	if x.Key == "" || keyOf[v.Type()] != x.Key {
		return r, false
	}
	for _, f := range fieldsOf(v.Type()) {
		to, arg := v.FieldByIndex(f.index), reflect.ValueOf(x.Args[f.name])
		if n, is := x.Args[f.name].(Number); is && n.Known() && to.CanInt() {
			to.SetInt(int64(n))
		} else if arg.IsValid() && arg.Type().AssignableTo(to.Type()) {
			to.Set(arg)
		}
	}
	return r, true
}

// Is reports whether a remark has a reason of a type.
func Is[R Reason](x Remark) bool {
	_, is := As[R](x)
	return is
}

// SayIf is a list of one reason where a condition holds, else an empty one.
func SayIf(holds bool, r Reason) []Remark {
	if !holds {
		return nil
	}
	return []Remark{Say(r)}
}

// Refuse stores the reason of a verdict that cannot be given. The sentence is formatted like fmt.Sprintf.
func Refuse(kind model.Kind, next, format string, args ...any) *Remark {
	return &Remark{Key: string(kind), Sentence: fmt.Sprintf(format, args...), Next: next}
}

// Title is the name of a metric in a sentence: "total time".
func Title(metric string) string { return measure.Metric{Name: metric}.Title() }

// Few is a list that ends after three names.
func Few(names []string) string {
	return strings.Join(names[:min(len(names), 3)], ", ") + measure.Either(len(names) > 3, ", others", "")
}

// Given is the parts together, "" where the value is empty: Given(where, " in ", where).
func Given(value string, parts ...string) string {
	if value == "" {
		return ""
	}
	return strings.Join(parts, "")
}

// Why is the reason of the outcome.
func (f *Finding) Why() Remark {
	return Remark{Key: f.ReasonKey, Args: f.ReasonArgs, Sentence: f.Reason}
}

// Because sets the reason of the outcome.
func (f *Finding) Because(x Remark) {
	f.Reason, f.ReasonKey, f.ReasonArgs, f.Also = x.Sentence, x.Key, x.Args, nil
}

// Qualify adds to the reason of the outcome.
func (f *Finding) Qualify(also ...Remark) {
	f.Also = append(f.Also, also...)
	for _, x := range also {
		f.Reason += "; " + x.Sentence
	}
}

// State adds facts about the change.
func (f *Finding) State(facts ...Remark) {
	f.Facts, f.Evidence = append(f.Facts, facts...), append(f.Evidence, sentences(facts)...)
}

// Warn adds doubts about what was measured.
func (s *Summary) Warn(doubts ...Remark) {
	s.Doubts, s.Warnings = append(s.Doubts, doubts...), append(s.Warnings, sentences(doubts)...)
}

func sentences(remarks []Remark) []string {
	return measure.Map(remarks, func(x Remark) string { return x.Sentence })
}

// Keys that other code asks for, beside that of their row.
const (
	KeyAttribute     = "attribute"
	KeyBaseNotNeeded = "base-not-needed"
	KeyBoundsBroken  = "bounds-broken"
	KeyCodeLimit     = "code-limit"
	KeyCountFromZero = "count-from-zero"
	KeyHostDenied    = "host-denied"
	KeyIncreased     = "increased-count"
	KeyMemory        = "memory"
	KeyMoreRuns      = "more-runs"
	KeyNames         = "names"
	KeyNotJudged     = "not-judged"
	KeyOneRun        = "one-run"
	KeyOverDrift     = "over-drift"
	KeyTraded        = "traded"
	KeyTwoLevels     = "two-levels"
	KeyUndecided     = "undecided"
	KeyUnmeasured    = "unmeasured"
	KeyWaiting       = "waiting"
	KeyWithAll       = "with-all"
)

// Key is a row of [Keys]: the word that names a reason in every report, the names of its arguments, and its meaning.
type Key struct {
	Key   string
	Args  []string
	Means string
}

// keyed is a row as Keyed gets it.
type keyed struct {
	key    string
	reason Reason
	means  string
}

var (
	rows   []keyed
	keyOf  = map[reflect.Type]string{}
	fields sync.Map // []field by type: found at the first use, as few types are used in a command
)

// field is an exported field of a type of reasons: an argument.
type field struct {
	name  string
	index []int
}

// plain is a reason without arguments, which has its key in itself.
type plain interface{ Key() string }

// Keyed adds the row of a type of reasons, or of a reason without arguments, and returns its key.
func Keyed(key string, r Reason, means string) string {
	rows = append(rows, keyed{key, r, means})
	keyOf[reflect.TypeOf(r)] = key
	return key
}

// Keys lists every reason, by key, as the manual and the JSON schemas show them. Those of refusals are in model.Kinds.
// It panics where two rows have one key or one type.
func Keys() (keys []Key) {
	for _, x := range rows {
		row := Key{Key: x.key, Means: x.means}
		if _, ok := x.reason.(plain); !ok {
			if keyOf[reflect.TypeOf(x.reason)] != x.key {
				panic(fmt.Sprintf("two rows of the reason %T", x.reason))
			}
			row.Args = measure.Map(fieldsOf(reflect.TypeOf(x.reason)), func(f field) string { return f.name })
		}
		at, twice := slices.BinarySearchFunc(keys, x.key,
			func(k Key, key string) int { return strings.Compare(k.Key, key) })
		if twice {
			panic("two rows of the key " + x.key)
		}
		keys = slices.Insert(keys, at, row)
	}
	return keys
}

// fieldsOf are the arguments of a type of reasons.
func fieldsOf(t reflect.Type) (out []field) {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			out = append(out, field{argName(f.Name), f.Index})
		}
	}
	fields.Store(t, out)
	return out
}

// argName puts underscores between the words of a field's name, in lower case: "BaseClock" becomes "base_clock".
func argName(field string) string {
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		begins := i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if unicode.IsUpper(r) && begins {
			b.WriteRune('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
