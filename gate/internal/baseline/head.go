package baseline

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// sessionRow holds the facts about a session, each as the text of its cell.
type sessionRow struct {
	ID         string `csv:"id"`
	GPU        string `csv:"gpu"`
	GPUs       string `csv:"gpus"`
	Processes  string `csv:"processes"`
	GPUHash    string `csv:"gpu_hash"`
	Driver     string `csv:"driver"`
	CUDA       string `csv:"cuda"`
	Tool       string `csv:"tool"`
	Schema     string `csv:"schema"`
	Mode       string `csv:"mode"`
	GraphTrace string `csv:"graph_trace"`
	Tick       string `csv:"tick_ns"`
	Clock      string `csv:"clock_mhz"`
	Board      string `csv:"board_part_number"`
	VBIOS      string `csv:"vbios"`
	Memory     string `csv:"memory_clock_max_mhz"`
	Power      string `csv:"power_limit_w"`
	MIG        string `csv:"mig"`
	CPU        string `csv:"cpu"`
	Sockets    string `csv:"sockets"`
	CPULimit   string `csv:"cpu_limit"`
	Throttled  string `csv:"throttled"`
	Steal      string `csv:"steal"`
	Foreign    string `csv:"foreign_load"`
	Crowded    string `csv:"crowded"`
	Start      string `csv:"start"`
	Step       string `csv:"step"`
	Warmup     string `csv:"warmup"`
	Runs       string `csv:"runs"`
	Skipped    string `csv:"skipped"`
	Total      string `csv:"total"`
	Launches   string `csv:"launches"`
	Steady     string `csv:"steady"`
	Starts     string `csv:"run_starts_s"` // after the start of the session, "" where no run has a start
	Longest    string `csv:"longest_run_s"`
	Commit     string `csv:"commit"`
	Reason     string `csv:"reason"`
}

// maxRuns bounds what a cell may claim.
const maxRuns = 100_000

// maxStart is the latest start of a run in s after that of its session.
const maxStart = 1e6

// isID reports whether a text can be the name of a session.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

func isHash(s string) bool {
	return s == "" || len(s) == 8 && strings.Trim(s, "0123456789abcdef") == ""
}

func isTrace(s string) bool { return s == "" || s == "node" || s == "graph" }

// formed is a parser for text of a fixed form.
func formed(form func(string) bool, what string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !form(s) {
			return "", fmt.Errorf("%q is not %s", s, what)
		}
		return s, nil
	}
}

// parseBoard keeps serial numbers and UUIDs out.
func parseBoard(s string) (string, error) {
	if s != "" && !model.IsBoard(s) {
		return "", fmt.Errorf("%q is not a board's part number, such as 692-2G520-0282-001", s)
	}
	return s, nil
}

func (r *sessionRow) session(c *cells) model.Session {
	s := model.Session{
		ID: parse(c, "id", r.ID, formed(isID, anID)),
		Environment: model.Environment{
			GPU:        parse(c, "gpu", r.GPU, unescape),
			GPUs:       parse(c, "gpus", r.GPUs, parseCount),
			Processes:  parse(c, "processes", cmp.Or(r.Processes, "0"), parseCount),
			GPUHash:    parse(c, "gpu_hash", r.GPUHash, formed(isHash, "eight hexadecimal digits")),
			Driver:     parse(c, "driver", r.Driver, unescape),
			CUDA:       parse(c, "cuda", r.CUDA, unescape),
			Tool:       parse(c, "tool", r.Tool, unescape),
			Schema:     parse(c, "schema", r.Schema, unescape),
			Mode:       parse(c, "mode", r.Mode, unescape),
			GraphTrace: parse(c, "graph_trace", r.GraphTrace, formed(isTrace, `"node", "graph" or empty`)),
			Tick:       parse(c, "tick_ns", r.Tick, parseTick),
			ClockMHz:   parse(c, "clock_mhz", r.Clock, parseCount),
			Start:      parse(c, "start", r.Start, parseStart),
			Hardware: model.Hardware{
				Board:     parse(c, "board_part_number", r.Board, parseBoard),
				VBIOS:     parse(c, "vbios", r.VBIOS, unescape),
				MemoryMHz: parse(c, "memory_clock_max_mhz", cmp.Or(r.Memory, "0"), parseCount),
				PowerW:    parse(c, "power_limit_w", cmp.Or(r.Power, "0"), parseCount),
				MIG:       parse(c, "mig", r.MIG, unescape),
				CPU:       parse(c, "cpu", r.CPU, unescape),
				Sockets:   parse(c, "sockets", r.Sockets, parseCount),
				CPULimit:  parse(c, "cpu_limit", r.CPULimit, parseNumber),
			},
			HostLoad: model.HostLoad{
				Throttled: parse(c, "throttled", r.Throttled, parseNumber),
				Steal:     parse(c, "steal", r.Steal, parseNumber),
				Foreign:   parse(c, "foreign_load", r.Foreign, parseNumber),
				Crowded:   parse(c, "crowded", r.Crowded, parseNumber),
			},
		},
		Step:   parse(c, "step", r.Step, unescape),
		Warmup: parse(c, "warmup", r.Warmup, unescape),
		Commit: parse(c, "commit", r.Commit, unescape),
		Reason: parse(c, "reason", r.Reason, unescape),

		Longest: time.Duration(parse(c, "longest_run_s", cmp.Or(r.Longest, "0"), parseCount)) * time.Second,
	}
	n := parse(c, "runs", r.Runs, parseCount)
	if n < 1 || n > maxRuns {
		c.fail("runs", "a session has from 1 to %d runs, not %d", maxRuns, n)
		return s
	}
	skipped := list(c, "skipped", r.Skipped, n, traced(parseCount))
	total := list(c, "total", r.Total, n, traced(parseCount))
	launches := list(c, "launches", r.Launches, n, traced(parseCount))
	steady := list(c, "steady", r.Steady, n, traced(parseSteady))
	var starts []float64
	if r.Starts != "" {
		starts = list(c, "run_starts_s", r.Starts, n, parseSample)
	}
	if c.err != nil {
		return s
	}
	for i := range n {
		untraced := steady[i] == nil
		if (skipped[i] == nil) != untraced || (total[i] == nil) != untraced || (launches[i] == nil) != untraced {
			c.fail("steady", "run %d is untraced (-) in some of skipped, total, launches and steady, and not in others", i+1)
			return s
		}
		if untraced {
			s.Runs = append(s.Runs, model.Run{Unprofiled: true, Steady: true})
			continue
		}
		if i > 0 && s.Runs[i-1].Unprofiled {
			c.fail("steady", "run %d was traced and stands behind an untraced one (-); put the traced ones first", i+1)
			return s
		}
		s.Runs = append(s.Runs, model.Run{Skipped: *skipped[i], Total: *total[i], Launches: *launches[i], Steady: *steady[i]})
	}
	for i, at := range starts {
		if at > maxStart {
			c.fail("run_starts_s", "a run starts at most %d s after its session; restore the file from version control", int(maxStart))
			return s
		}
		if !math.IsNaN(at) && !s.Start.IsZero() {
			s.Runs[i].Start = s.Start.Add(time.Duration(at * float64(time.Second)))
		}
	}
	return s
}

func newSessionRow(s *model.Session) sessionRow {
	traced := func(word func(model.Run) string) string {
		return join(s.Runs, func(r model.Run) string {
			if r.Unprofiled {
				return missing
			}
			return word(r)
		})
	}
	counts := func(field func(model.Run) int) string {
		return traced(func(r model.Run) string { return strconv.Itoa(field(r)) })
	}
	return sessionRow{
		ID:  s.ID,
		GPU: escape(s.GPU), GPUs: strconv.Itoa(s.GPUs), Processes: strconv.Itoa(s.Processes), GPUHash: s.GPUHash,
		Driver: escape(s.Driver), CUDA: escape(s.CUDA), Tool: escape(s.Tool), Schema: escape(s.Schema),
		Mode: escape(s.Mode), GraphTrace: s.GraphTrace, Tick: formatNumber(s.Tick), Clock: strconv.Itoa(s.ClockMHz),
		Board: s.Board, VBIOS: escape(s.VBIOS), Memory: strconv.Itoa(s.MemoryMHz), Power: strconv.Itoa(s.PowerW), MIG: escape(s.MIG), CPU: escape(s.CPU),
		Sockets: strconv.Itoa(s.Sockets), CPULimit: formatNumber(s.CPULimit),
		Throttled: formatNumber(s.Throttled), Steal: formatNumber(s.Steal), Foreign: formatNumber(s.Foreign), Crowded: formatNumber(s.Crowded),
		Start: formatStart(s.Start), Step: escape(s.Step), Warmup: escape(s.Warmup),
		Runs:     strconv.Itoa(len(s.Runs)),
		Skipped:  counts(func(r model.Run) int { return r.Skipped }),
		Total:    counts(func(r model.Run) int { return r.Total }),
		Launches: counts(func(r model.Run) int { return r.Launches }),
		Steady:   traced(func(r model.Run) string { return formatSteady(r.Steady) }),
		Starts:   formatStarts(s),
		Commit:   escape(s.Commit), Reason: escape(s.Reason), Longest: strconv.Itoa(int(math.Ceil(s.Longest.Seconds()))),
	}
}

// formatStarts is when the runs of a session began, in s after its start, "-" where that is not known; "" where none is known.
func formatStarts(s *model.Session) string {
	known := false
	starts := join(s.Runs, func(r model.Run) string {
		at := math.Round(r.Start.Sub(s.Start).Seconds()*10) / 10
		if s.Start.IsZero() || r.Start.IsZero() || at < 0 || at > maxStart { // or the session has the time of another one
			return missing
		}
		known = true
		return formatNumber(at)
	})
	if !known {
		return ""
	}
	return starts
}

const anID = "a session id (letters, digits and hyphens)"
