package ncu

import (
	"math"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/measure"
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
	if lists[c.name] || topology.MatchString(c.name) {
		return
	}
	switch _, form := cells.Parse(c.text); {
	case form == cells.Point, form == cells.Thousands:
		l.english = true
	case form == cells.ThreeAfterPoint && l.unclear == nil: // ncu writes two decimals or six, never three
		l.unclear = keep(c)
	case form == cells.Foreign && l.foreign == nil:
		l.foreign = keep(c)
	}
}

// keep copies a cell, whose row goes.
func keep(c *cell) *cell {
	kept := *c
	return &kept
}

// check refuses a table whose numbers may mean something else than they would in English.
func (l *language) check() error {
	switch {
	case l.foreign != nil:
		return l.foreign.refuse("foreign-number")
	case l.unclear != nil && !l.english:
		return l.unclear.refuse("ambiguous-number")
	}
	return nil
}

// value reads the cell. Words have the number NaN.
func (c *cell) value() (v Value, kind cellKind) {
	v = Value{Number: math.NaN(), Unit: c.unit, Text: c.text, Line: c.line}
	switch {
	case nothing[strings.ToLower(c.text)]:
		return v, isMissing
	case lists[c.name]:
		return v, isText
	}
	n, form := cells.Parse(c.text)
	if form == cells.NoNumber || form == cells.Foreign {
		return v, isText
	}
	factor, unit, _ := baseUnit(c.unit)
	v.Number, v.Unit, v.Step = n.Float(factor), unit, n.Step(factor)
	if factor == 1 && n.Places == 0 {
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

// plain are the units that are counts of something.
var plain = map[string]bool{
	"": true, "%": true, "inst": true, "cycle": true, "sector": true, "sectors": true, "request": true, "thread": true, "warp": true,
	"block": true, "cluster": true, "register": true, "branches": true, "pass": true, "sample": true, "SM": true, "FLOP": true,
}

// scaled is the size of a unit and ncu's word for the base unit, in which its prefixes go by 1000.
func scaled(unit string) (factor float64, base string, ok bool) {
	factor, base, ok = measure.BaseUnit(unit)
	switch base {
	case "Hz":
		base = "hz"
	case "B":
		base = "byte"
	case "ns":
	default:
		ok = false
	}
	return factor, base, ok
}

// baseUnit is the base unit and what a number is multiplied with to be in it. A rate has the second as its base.
// An unknown unit is its own base.
func baseUnit(unit string) (factor float64, base string, known bool) {
	above, below, rate := strings.Cut(unit, "/")
	factor, base, known = 1, above, plain[above]
	if f, b, ok := scaled(above); ok {
		factor, base, known = f, b, true
	}
	if !rate {
		return factor, base, known
	}
	f, b, ok := scaled(below)
	switch {
	case !ok:
		return factor, base + "/" + below, known && plain[below]
	case b == "ns":
		factor, below = factor/(f/1e9), "s"
	default:
		factor, below = factor/f, b
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

func (c *cell) refuse(key string, details ...any) error {
	return refuse(key, c.file, c.line, append([]any{quote(c.name), quote(c.text)}, details...)...)
}
