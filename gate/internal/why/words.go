package why

import (
	"math"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// label is a metric's name in a sentence.
func label(m measure.Metric) string { return labels([]string{m.Name}) }

func labels(names []string) string {
	s := strings.ReplaceAll(strings.Join(names, ", "), "_", " ")
	return acronyms.Replace(s)
}

var acronyms = strings.NewReplacer("dram", "DRAM", "l1", "L1", "l2", "L2", "sm clock", "SM clock", "sm throughput", "SM throughput",
	"flops fp", "FLOPs in fp", "ncu time", "time under ncu")

func capital(s string) string {
	if strings.HasPrefix(s, "ncu") || s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// amount prints a value as package measure does, and large counts in short: "20.97 M".
func amount(v float64, unit string) string {
	if _, _, known := measure.BaseUnit(unit); known {
		return measure.Quantity(v, unit)
	}
	if unit == "count" || unit == "per thread" {
		unit = ""
	}
	scale, prefix := 1.0, ""
	if abs := math.Abs(v); abs >= 10_000 || unit != "" && abs >= 1000 {
		for _, prefix = range []string{"k", "M", "G", "T", "P"} {
			if scale *= 1000; measure.Round(abs/scale) < 1000 {
				break
			}
		}
	}
	return strings.TrimSpace(measure.Quantity(v/scale, "") + " " + prefix + unit)
}

// arrow prints a change: "75.71 µs → 82.40 µs".
func arrow(base, head float64, unit string) string {
	return amount(base, unit) + " → " + amount(head, unit)
}

// times prints a ratio: "+10.0 %", "-3.20 %", "×5.184".
func times(r float64) string {
	switch {
	case math.IsInf(r, 0):
		return "×∞"
	case r >= 2:
		return "×" + amount(r, "")
	}
	return measure.Change(r - 1)
}
