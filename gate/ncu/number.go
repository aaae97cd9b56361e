package ncu

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// ncu writes numbers in the language of the machine: 10,776,576 and 0.57 in English, 10.776.576 and 0,57 in German,
// 10776576.00 without one. The three forms below are read; the second tells that the file must not be.
var (
	english = regexp.MustCompile(`^[+-]?([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	// continental is what no English number is: a comma before other than three digits, several points, or digits in
	// groups of another kind: "10 776 576" of every kind of space, "1'234.5", "1,07,76,576". U+FFFD stands for a space of
	// a code page of Windows.
	continental = regexp.MustCompile(`^[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+),[0-9]+$|^[+-]?[0-9]{1,3}(\.[0-9]{3}){2,}$|` +
		`^[+-]?[0-9]{1,3}([ \x{00A0}\x{2009}\x{202F}\x{FFFD}'’][0-9]{3})+([.,][0-9]+)?$|^[+-]?[0-9]+(,[0-9]{2,3}){2,}(\.[0-9]+)?$`)
	// either is 117344 in one language and 117.344 in another. ncu writes two decimals or six, never three.
	either = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$`)
	// point is what only an English number is.
	point = regexp.MustCompile(`,[0-9]{3},|,[0-9]{3}\.|\.([0-9]{1,2}|[0-9]{4,})$|^[+-]?(0[0-9]*|[0-9]{4,})\.[0-9]{3}$`)
)

// nothing are the cells that stand for no measurement.
var nothing = map[string]bool{
	"": true, "n/a": true, "no data": true, "nan": true, "-nan": true, "(nan)": true, "inf": true, "-inf": true,
}

// lists are words that look like numbers: which of the GPU's parts are switched on.
var lists = map[string]bool{"launch__tpc_enabled": true, "Launch Statistics: Enabled TPC IDs": true}

// topology begins the names of cells that may list several numbers ("0,1"), and of which no metric is made.
var topology = regexp.MustCompile(`^(?:numa|nvlink|c2clink)__`)

// language decides whether a table's numbers are English from all of its cells together.
type language struct {
	foreign, unclear *cell
	english          bool
}

func (l *language) see(c *cell) {
	switch {
	case digits(c.text) || lists[c.name] || topology.MatchString(c.name):
	case english.MatchString(c.text):
		if point.MatchString(c.text) {
			l.english = true
		} else if l.unclear == nil && either.MatchString(c.text) {
			l.unclear = keep(c)
		}
	case l.foreign == nil && continental.MatchString(c.text):
		l.foreign = keep(c)
	}
}

// digits reports whether there is nothing else in the text, as in most cells.
func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// keep copies a cell, whose row goes.
func keep(c *cell) *cell {
	kept := *c
	return &kept
}

// check refuses a table whose numbers may mean something else than they would in English.
func (l *language) check() error {
	const next = "run ncu with LC_ALL=C"
	switch {
	case l.foreign != nil:
		return l.foreign.refuse("the number is written with a decimal comma, or with other signs than commas between thousands", next)
	case l.unclear != nil && !l.english:
		return l.unclear.refuse("the number is ambiguous: its point may separate thousands or decimals", next)
	}
	return nil
}

// value reads the cell. Words have the number NaN.
func (c *cell) value() (v Value, kind cellKind) {
	v = Value{Number: math.NaN(), Unit: c.unit, Text: c.text, Line: c.line}
	switch {
	case nothing[strings.ToLower(c.text)]:
		return v, isMissing
	case lists[c.name] || !digits(c.text) && !english.MatchString(c.text):
		return v, isText
	}
	bare := strings.ReplaceAll(c.text, ",", "")
	n, err := strconv.ParseFloat(bare, 64)
	if err != nil { // out of range
		return v, isText
	}
	factor, unit, _ := baseUnit(c.unit)
	v.Number, v.Unit, v.Step = n*factor, unit, factor*step(bare)
	if factor == 1 && !strings.Contains(bare, ".") {
		v.Step = 0
	}
	return v, isNumber
}

type cellKind int

const (
	isNumber cellKind = iota
	isText
	isMissing
)

// step is the place value of the last digit.
func step(digits string) float64 {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(digits), "e")
	e, _ := strconv.Atoi(exponent)
	if _, decimals, ok := strings.Cut(mantissa, "."); ok {
		e -= len(decimals)
	}
	return math.Pow(10, float64(e))
}

// scales are the units that ncu writes, from 2021 on, with what makes them base units. Its prefixes go by 1000.
var scales = map[string]struct {
	factor float64
	base   string
}{
	"ns": {1, "ns"}, "us": {1e3, "ns"}, "ms": {1e6, "ns"}, "s": {1e9, "ns"},
	"nsecond": {1, "ns"}, "usecond": {1e3, "ns"}, "msecond": {1e6, "ns"}, "second": {1e9, "ns"},
	"hz": {1, "hz"}, "khz": {1e3, "hz"}, "mhz": {1e6, "hz"}, "ghz": {1e9, "hz"},
	"byte": {1, "byte"}, "kbyte": {1e3, "byte"}, "mbyte": {1e6, "byte"}, "gbyte": {1e9, "byte"}, "tbyte": {1e12, "byte"},
}

// plain are the units that are counts of something.
var plain = map[string]bool{
	"": true, "%": true, "inst": true, "cycle": true, "sector": true, "sectors": true, "request": true, "thread": true, "warp": true,
	"block": true, "cluster": true, "register": true, "branches": true, "pass": true, "sample": true, "SM": true, "FLOP": true,
}

// baseUnit is the base unit and what a number is multiplied with to be in it. A rate has the second as its base.
// An unknown unit is its own base.
func baseUnit(unit string) (factor float64, base string, known bool) {
	above, below, rate := strings.Cut(unit, "/")
	factor, base, known = 1, above, plain[above]
	if s, ok := scales[strings.ToLower(above)]; ok {
		factor, base, known = s.factor, s.base, true
	}
	if !rate {
		return factor, base, known
	}
	s, ok := scales[strings.ToLower(below)]
	switch {
	case !ok:
		return factor, base + "/" + below, known && plain[below]
	case s.base == "ns":
		factor, below = factor/(s.factor/1e9), "s"
	default:
		factor, below = factor/s.factor, s.base
	}
	if base == "cycle" && below == "s" {
		return factor, "hz", known
	}
	return factor, base + "/" + below, known
}

// cell is one value on its way in.
type cell struct {
	file string
	line int
	name string // of the ncu metric
	unit string // as written
	text string // trimmed
}

func (c *cell) refuse(reason, next string) error {
	return refuse(c.file, c.line, fmt.Sprintf("column %s: %s: %s", quote(c.name), quote(c.text), reason), next)
}
