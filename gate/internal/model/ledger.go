package model

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// LeftOut is a number or row of a file that is neither judged nor shown, and why.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// The reasons to leave out a number or a row of a file.
const (
	NoUnit      = "no unit"
	UnknownName = "unknown name"
	Skipped     = "skipped"
	UnderClock  = "0 by a coarse clock"
	Failed      = "failed" // with what the harness says behind a colon
)

// LeaveOut adds what a file or run of the session leaves out, each once.
func (s *Session) LeaveOut(more ...LeftOut) {
	known := map[LeftOut]bool{}
	for _, x := range s.LeftOut {
		known[x] = true
	}
	for _, x := range more {
		if !known[x] {
			s.LeftOut, known[x] = append(s.LeftOut, x), true
		}
	}
}

// Settings are those of a load by name, as [Environment.Mode] holds them: "max_concurrency=64 num_prompts=640".
type Settings map[string]string

// ParseSettings reads a mode, nil where it is that of a profiler or empty.
func ParseSettings(mode string) Settings {
	var out Settings
	for _, word := range strings.Fields(mode) {
		at := strings.LastIndexByte(word, '=')
		if at < 0 {
			return nil
		}
		if out == nil {
			out = Settings{}
		}
		out[word[:at]] = word[at+1:]
	}
	return out
}

func (s Settings) String() string {
	words := measure.Map(slices.Sorted(maps.Keys(s)), func(name string) string { return name + "=" + s[name] })
	return strings.Join(words, " ")
}

// JoinModes adds to a mode the settings that only the other one has.
func JoinModes(a, b string) string {
	x := ParseSettings(b)
	if x == nil || a != "" && ParseSettings(a) == nil {
		return a
	}
	maps.Copy(x, ParseSettings(a))
	return x.String()
}

// Tallied reports whether a setting is counted in a run, so that it varies from run to run.
func Tallied(setting string) bool {
	return slices.ContainsFunc([]string{"completed", "_per_request", "duration"}, func(end string) bool {
		return strings.HasSuffix(setting, end)
	})
}

// WholeMode is what [Unlike] names where the modes are no settings.
const WholeMode = "mode"

// Unlike is the first setting that both modes have and that differs, with both values; "" where the modes are alike, or
// one is not known. Counts differ by more than 10 %. Requests in a given time are as many as the server answers.
func Unlike(a, b string) (setting, inA, inB string) {
	x, y := ParseSettings(a), ParseSettings(b)
	if a != b && (x == nil && a != "" || y == nil && b != "") {
		return WholeMode, a, b
	}
	for _, name := range slices.Sorted(maps.Keys(x)) {
		other, both := y[name]
		if !both || !Differ(x[name], other) || strings.HasSuffix(name, "duration") ||
			Tallied(name) && !x.apart(y, name) {
			continue
		}
		of, requests := strings.CutSuffix(name, "completed")
		if timed := x[of+"duration"] != "" && !x.apart(y, of+"duration"); !requests || !timed {
			return name, x[name], other
		}
	}
	return "", "", ""
}

// Differ reports whether two values of a setting differ. One that grew, "10→13", is alike with those of its ends.
func Differ(a, b string) bool {
	first, last, _ := strings.Cut(a, "→")
	from, to, _ := strings.Cut(b, "→")
	return first != from && cmp.Or(last, first) != cmp.Or(to, from)
}

// OneSided is the first setting of a that b does not name, with its value; "" where there is none. One
// that is not set is as none, and a load of a sweep that b lacks has no settings there.
func OneSided(a, b string) string {
	x, y := ParseSettings(a), ParseSettings(b)
	loads := map[string]bool{"/": true}
	for name := range y {
		loads[path.Dir("/"+name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if _, both := y[name]; !both && x[name] != "none" && !Tallied(name) && loads[path.Dir("/"+name)] {
			return name + "=" + x[name]
		}
	}
	return ""
}

// apart reports whether a count of two loads differs by more than a run's count varies.
func (s Settings) apart(o Settings, name string) bool {
	const most = 0.1
	v, err := strconv.ParseFloat(s[name], 64)
	w, other := strconv.ParseFloat(o[name], 64)
	return err != nil || other != nil || math.Abs(v-w) > most*max(v, w)
}
