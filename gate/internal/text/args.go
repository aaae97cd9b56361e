package text

import (
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// saying puts the arguments of a remark into words.
type saying func(a *args) string

// says is a saying that stands as it is, with its arguments in braces: see [args.say].
func says(text string) saying { return func(a *args) string { return a.say(text) } }

// args are the arguments of one remark. One that is asked for and lacks, or is of another kind, makes it lacking.
type args struct {
	of      result.Args
	lacking bool
}

func argument[T any](a *args, name string) T {
	v, ok := a.of[name].(T)
	a.lacking = a.lacking || !ok
	return v
}

func (a *args) text(name string) string          { return argument[string](a, name) }
func (a *args) list(name string) []string        { return argument[[]string](a, name) }
func (a *args) number(name string) result.Number { return argument[result.Number](a, name) }

// say prints a text with each argument in its place: {name} as it is, {way name} in one of the ways of [args.print].
func (a *args) say(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		field, rest, _ := strings.Cut(rest, "}")
		if way, names, ok := strings.Cut(field, " "); ok {
			b.WriteString(a.print(way, names))
		} else {
			b.WriteString(a.text(field))
		}
		text = rest
	}
}

// given is a text where an argument is there and neither empty nor zero, else another.
func (a *args) given(name, text string, otherwise ...string) string {
	there := false
	switch v := a.of[name].(type) {
	case string:
		there = v != ""
	case []string:
		there = len(v) > 0
	case result.Number:
		there = v != 0
	default:
		a.lacking = true
	}
	if !there {
		text = strings.Join(otherwise, "")
	}
	return a.say(text)
}

// print prints arguments in a way: a number, or how many there are of something, a list, or what another name stands for.
func (a *args) print(way, names string) string {
	name, more, _ := strings.Cut(names, " ")
	switch way {
	case "number":
		return number(a.number(name))
	case "change":
		return change(a.number(name))
	case "percent":
		return percent(a.number(name))
	case "quantity":
		return quantity(a.number(name), a.text(more))
	case "count": // and of what: one, or one|many
		one, many, irregular := strings.Cut(more, "|")
		if irregular {
			return count(a.number(name), one, many)
		}
		return count(a.number(name), one)
	case "join":
		return strings.Join(a.list(name), ", ")
	case "few":
		return few(a.list(name))
	case "metric":
		return Metric(a.text(name))
	case "hosts":
		return hosts(a.text(name))
	case "graphs":
		return graphs(a.text(name))
	case "binding":
		size, unit, _ := strings.Cut(more, " ")
		return binding(a.text(name), a.number(size), a.text(unit))
	case "bounds":
		most, unit, _ := strings.Cut(more, " ")
		return bounds(a.number(name), a.number(most), a.text(unit))
	case "trodden":
		return trodden(a.number(name), a.number(more))
	}
	panic("no way to print: " + way)
}

// len is how many a list has.
func (a *args) len(name string) string { return strconv.Itoa(len(a.list(name))) }

// quoted is a text in quotes, "none" for an empty one.
func (a *args) quoted(name string) string {
	if a.text(name) == "" {
		return "none"
	}
	return strconv.Quote(a.text(name))
}

// before says whether the base had it, too.
func (a *args) before() string {
	switch {
	case a.text("too") != "":
		return a.say(`; the base had it too, {change base}`)
	case a.number("base").Known():
		return a.say(`; in the base {change base}`)
	}
	return ""
}

// called says how often a call is made.
func (a *args) called() string {
	often := a.say(`{number calls} times`)
	if a.number("calls") == 1 {
		often = `once`
	}
	return a.say(`{kind} is called `) + often + ` a step` + a.given("range", `, mostly in {range}`)
}

// board is on which board hosts were.
func (a *args) board() string { return a.given("board", ` on board {board}`) }

// anchor is from when on something crept.
func (a *args) anchor() string {
	return a.given("since", `{since}`, `the oldest session`) + a.given("commit", ` at {commit}`)
}
