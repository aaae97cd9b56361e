package bench

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// account is how a format accounts for its numbers: those that are neither read nor known are left out by name.
type account struct {
	// known matches names of numbers that are read, or are deviations, counts or another view of what is read.
	known *regexp.Regexp
	// parts matches keys of objects that the filter takes whole, or that hold settings and versions.
	parts *regexp.Regexp
	// level is the depth of the key that names a number, the outermost 1; 0 is the innermost.
	level int
	// statistics matches the keys below a known name of that depth.
	statistics *regexp.Regexp
	// load is true for files of load generators, whose names tell what they mean.
	load bool
}

// ledger looks at the numbers of a file.
type ledger struct {
	*account
	part map[string]bool // keys, whether they are parts
	each func(name, leaf string, level int)
}

// accountOf reads the facts of a filter, nil where it does not account for its numbers.
func accountOf(facts map[string]any) *account {
	pattern := func(name string) *regexp.Regexp {
		text, ok := facts[name].(string)
		if !ok {
			return nil
		}
		return regexp.MustCompile("^(?:" + strings.ReplaceAll(text, "STATISTICS", statistics) + ")$")
	}
	a := account{known: pattern("known"), parts: pattern("parts"), statistics: pattern("statistics")}
	a.load, _ = facts["load"].(bool)
	a.level, _ = facts["level"].(int)
	if a == (account{}) {
		return nil
	}
	return &a
}

// numbers looks at each number of a value, of several in one list at the first: names are the keys around it.
func (l *ledger) numbers(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		if _, element := v["elements"].([]any); element && v["attributes"] != nil {
			l.attributes(v)
			return
		}
		for key, inner := range v {
			part, known := l.part[key]
			if !known {
				part = l.matches(l.parts, key)
				l.part[key] = part
			}
			if !part {
				l.numbers(inner, append(names, key))
			}
		}
	case []any:
		for _, inner := range v {
			l.numbers(inner, names)
		}
	case float64:
		if n := len(names); n > 0 {
			name := names[n-1]
			if l.level > 0 {
				name = names[min(l.level, n)-1]
			}
			l.each(name, names[n-1], n)
		}
	}
}

// attributes looks at each number in the attributes of an element of XML by the attribute's name, that of a property
// by its own.
func (l *ledger) attributes(element map[string]any) {
	all := element["attributes"].(map[string]any)
	own, _ := all["name"].(string)
	for name, v := range all {
		key := name
		if name == "value" && own != "" {
			key = own
		}
		if text, ok := v.(string); ok && name != "name" {
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				l.each(key, key, 1)
			}
		}
	}
	for _, inner := range element["elements"].([]any) {
		l.attributes(inner.(map[string]any))
	}
}

func (a *account) matches(p *regexp.Regexp, name string) bool {
	return p != nil && len(name) <= longestMetric && p.MatchString(name)
}

// leave lists a number or row that is left out.
func (r *reading) leave(name, why string) {
	r.left.Of(model.LeftOut{Name: strings.ToValidUTF8(name[:min(len(name), longest)], ""), Why: why})
}

// account leaves out the numbers of a file that its format does not know and its filter did not take.
func (r *reading) account(a *account, value any) {
	told := map[[2]string]bool{}
	var left []model.LeftOut
	l := ledger{account: a, part: map[string]bool{}}
	l.each = func(name, leaf string, level int) {
		if told[[2]string{name, leaf}] {
			return
		}
		told[[2]string{name, leaf}] = true
		known := a.matches(a.known, name) || r.taken[name] ||
			a.load && (meaningOf(name).known || setting().MatchString(normal(name)))
		switch {
		case known && a.statistics != nil && level > a.level && !a.statistics.MatchString(leaf):
			left = append(left, model.LeftOut{Name: name + "." + leaf, Why: model.UnknownName})
		case known:
		case a.load && meaningOf(name+"_ms").metric == measure.Duration:
			left = append(left, model.LeftOut{Name: name, Why: model.NoUnit})
		default:
			left = append(left, model.LeftOut{Name: name, Why: model.UnknownName})
		}
	}
	l.numbers(value, nil)
	measure.Sort(left, func(a, b model.LeftOut) int { return cmp.Compare(a.Name, b.Name) })
	for _, x := range left {
		r.leave(x.Name, x.Why)
	}
}

// Unknown is the refusal of a file that has the form of results, and no metric by a name that is known: flat JSON
// objects with numbers. It is nil for any other file.
func Unknown(text []byte, file string) error {
	value, some := parse(text).value, false
	all, several := value.([]any)
	if !several {
		all = []any{value}
	}
	for _, v := range all {
		f, _ := v.(map[string]any)
		for name, v := range f {
			switch v.(type) {
			case map[string]any, []any:
				return nil
			case float64:
				some = some || name != "Type" // of an event of a profiler
			}
		}
	}
	switch {
	case !some:
		return nil
	case several:
		return model.Refuse(model.OtherFormat, sayWhat, "%s is JSON of no benchmark harness that nsgate knows", file)
	}
	return model.Refuse(model.NoMeasurement, "rename its numbers, or say with rows what they are. "+knownNames(),
		"%s holds no metric by a known name", file)
}
