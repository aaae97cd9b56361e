package why

import (
	"fmt"
	"math"
	"strconv"
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

// amount prints a value with three digits and its unit: "21.0 M", "58.1 GB", "75.7 µs", "93.5 %".
func amount(v float64, unit string) string {
	if unit == "ns" {
		v, unit = v/1e9, "s"
	}
	switch unit {
	case "%":
		return three(v) + " %"
	case "count", "per thread":
		unit = ""
	}
	scale, prefix := 1.0, ""
	if abs := math.Abs(v); unit == "s" {
		for _, prefix = range []string{"", "m", "µ", "n"} {
			if abs >= scale || prefix == "n" {
				break
			}
			scale /= 1000
		}
	} else if abs >= 10_000 || unit != "" && abs >= 1000 {
		for _, prefix = range []string{"k", "M", "G", "T", "P"} {
			if scale *= 1000; abs < 999.5*scale {
				break
			}
		}
	}
	return strings.TrimSpace(three(v/scale) + " " + prefix + unit)
}

// arrow prints a change: "75.7 µs → 82.4 µs".
func arrow(base, head float64, unit string) string {
	return amount(base, unit) + " → " + amount(head, unit)
}

// three prints three significant digits and leaves whole numbers whole.
func three(v float64) string {
	switch abs := math.Abs(v); {
	case v == math.Trunc(v) && abs < 1e6:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case abs >= 1e6:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case abs >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case abs >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// times prints a ratio: "+10.0 %", "−3.20 %", "×5.18".
func times(r float64) string {
	switch {
	case math.IsInf(r, 0):
		return "×∞"
	case r >= 2:
		return "×" + amount(r, "")
	case math.Abs(r-1) >= 0.0995:
		return fmt.Sprintf("%+.1f %%", 100*(r-1))
	}
	return fmt.Sprintf("%+.2f %%", 100*(r-1))
}
