package bench

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// ledger is how a format accounts for its numbers: those that are neither read nor known are left out by name.
type ledger struct {
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

// newLedger reads the facts of a filter, nil where it does not account for its numbers.
func newLedger(facts map[string]any) *ledger {
	pattern := func(name string) *regexp.Regexp {
		text, ok := facts[name].(string)
		if !ok {
			return nil
		}
		return regexp.MustCompile("^(?:" + strings.ReplaceAll(text, "STATISTICS", statistics) + ")$")
	}
	l := ledger{known: pattern("known"), parts: pattern("parts"), statistics: pattern("statistics")}
	l.load, _ = facts["load"].(bool)
	l.level, _ = facts["level"].(int)
	return measure.Either(l == (ledger{}), nil, &l)
}

func matches(p *regexp.Regexp, name string) bool {
	return p != nil && len(name) <= longestMetric && p.MatchString(name)
}

// numbers are those of a file by the key that names them and the innermost key around them, with the depth of that.
type numbers struct {
	*ledger
	keys  map[string]key
	depth map[[2]string]int
}

// key is what is known of a key: that it is a part, and that a number beside it is accounted for.
type key struct{ part, done bool }

func (n *numbers) key(name string) key {
	x, known := n.keys[name]
	if !known {
		x = key{matches(n.parts, name), n.level == 0 && matches(n.known, name)}
		n.keys[name] = x
	}
	return x
}

// addAttributes adds the numbers in the attributes of an element of XML by their names, that of a property by its own.
func (n *numbers) addAttributes(attributes map[string]any) {
	for key, text := range attributes {
		if key == "name" || n.key(key).done && key != "value" {
			continue
		}
		text, _ := text.(string)
		number, err := strconv.ParseFloat(text, 64)
		if own, _ := attributes["name"].(string); key == "value" {
			key = cmp.Or(own, key)
		}
		if err == nil {
			n.add(number, key)
		}
	}
}

// add adds the numbers of a value, of those in one list the first: names are the keys around it.
func (n *numbers) add(v any, names ...string) {
	switch v := v.(type) {
	case map[string]any:
		attributes, element := v["attributes"].(map[string]any)
		if inner, ok := v["elements"].([]any); ok && element {
			n.addAttributes(attributes)
			n.add(inner)
			return
		}
		for key, inner := range v {
			x := n.key(key)
			if _, number := inner.(float64); !x.part && !(number && x.done) {
				n.add(inner, append(names, key)...)
			}
		}
	case []any:
		some := false
		for _, inner := range v {
			_, number := inner.(float64)
			if !number || !some {
				n.add(inner, names...)
			}
			some = some || number
		}
	case string:
		if v == "NaN" || v == "Infinity" || v == "-Infinity" { // of a writer in Python
			n.add(0.0, names...)
		}
	case float64:
		if i := len(names); i > 0 {
			at := min(cmp.Or(n.level, i), i)
			if of := [2]string{names[at-1], names[i-1]}; n.depth[of] == 0 {
				n.depth[of] = i
			}
		}
	}
}

// leave lists a number or row that is left out.
func (r *reading) leave(name, why string) {
	r.left.Of(model.LeftOut{Name: clip(name, longest), Why: why})
}

// account leaves out the numbers of a file that its format does not know and its filter did not take.
func (r *reading) account(l *ledger, value any) {
	all := numbers{l, map[string]key{}, map[[2]string]int{}}
	all.add(value)
	var left []model.LeftOut
	for of, depth := range all.depth {
		name, leaf := of[0], of[1]
		switch known := matches(l.known, name) || r.taken[name] ||
			l.load && (meaningOf(name) != nil || setting().MatchString(normal(name))); {
		case known && l.statistics != nil && depth > l.level && !matches(l.statistics, leaf):
			left = append(left, model.LeftOut{Name: name + "." + leaf, Why: model.UnknownName})
		case known:
		case l.load && meaningOf(name + "_ms")["metric"] == measure.Duration.Name:
			left = append(left, model.LeftOut{Name: name, Why: model.NoUnit})
		default:
			left = append(left, model.LeftOut{Name: name, Why: model.UnknownName})
		}
	}
	measure.Sort(left, func(a, b model.LeftOut) int { return cmp.Compare(a.Name, b.Name) })
	for _, x := range left {
		r.leave(x.Name, x.Why)
	}
}
