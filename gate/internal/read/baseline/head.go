package baseline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// headKey is a key of the rows about a whole session: its cell in the file, "" for no row, and its assignment to the
// entry. The keys of runs set nothing by themselves, see [Entry.readRuns].
type headKey struct {
	name  string
	write func(e *Entry) string
	read  func(c *cells, cell string, e *Entry)
}

var headKeys = []headKey{
	{name: "what", write: (*Entry).Kind},
	text("workload", func(e *Entry) *string { return &e.Workload }),
	text("gpu", func(e *Entry) *string { return &e.GPU }),
	count("gpus", func(e *Entry) *int { return &e.GPUs }),
	count("processes", func(e *Entry) *int { return &e.Processes }),
	form("gpu_hash", func(e *Entry) *string { return &e.GPUHash }, `^([0-9a-f]{8})?$`, "eight hexadecimal digits"),
	text("driver", func(e *Entry) *string { return &e.Driver }),
	text("cuda", func(e *Entry) *string { return &e.CUDA }),
	text("tool", func(e *Entry) *string { return &e.Tool }),
	text("schema", func(e *Entry) *string { return &e.Schema }),
	text("mode", func(e *Entry) *string { return &e.Mode }),
	form("graph_trace", func(e *Entry) *string { return &e.GraphTrace }, `^(node|graph)?$`, `"node", "graph" or empty`),
	field("tick_ns", func(e *Entry) *float64 { return &e.Tick }, formatNumber, parseTick),
	count("clock_mhz", func(e *Entry) *int { return &e.ClockMHz }),
	field("board_part_number", func(e *Entry) *string { return &e.Board }, verbatim, parseBoard),
	text("vbios", func(e *Entry) *string { return &e.VBIOS }),
	count("memory_clock_max_mhz", func(e *Entry) *int { return &e.MemoryMHz }),
	count("power_limit_w", func(e *Entry) *int { return &e.PowerW }),
	text("mig", func(e *Entry) *string { return &e.MIG }),
	text("cpu", func(e *Entry) *string { return &e.CPU }),
	count("sockets", func(e *Entry) *int { return &e.Sockets }),
	number("cpu_limit", func(e *Entry) *float64 { return &e.CPULimit }),
	number("throttled", func(e *Entry) *float64 { return &e.Throttled }),
	number("steal", func(e *Entry) *float64 { return &e.Steal }),
	number("foreign_load", func(e *Entry) *float64 { return &e.Foreign }),
	number("crowded", func(e *Entry) *float64 { return &e.Crowded }),
	field("start", func(e *Entry) *time.Time { return &e.Start }, formatStart, parseStart),
	text("step", func(e *Entry) *string { return &e.Step }),
	text("warmup", func(e *Entry) *string { return &e.Warmup }),
	{name: "runs", write: func(e *Entry) string { return strconv.Itoa(len(e.Runs)) }},
	profiled("skipped", func(r model.Run) string { return strconv.Itoa(r.Skipped) }),
	profiled("total", func(r model.Run) string { return strconv.Itoa(r.Total) }),
	profiled("launches", func(r model.Run) string { return strconv.Itoa(r.Launches) }),
	profiled("steady", func(r model.Run) string {
		return measure.Either(r.Steady, "yes", "no")
	}),
	{name: "run_starts_s", write: func(e *Entry) string { return formatStarts(&e.Session) }},
	field("longest_run_s", func(e *Entry) *time.Duration { return &e.Longest }, formatSeconds, parseSeconds),
	form("inputs", func(e *Entry) *string { return &e.Inputs }, `^([0-9a-f]{64} [0-9a-f]{64})?$`, "two hashes"),
	form("inherited", func(e *Entry) *string { return &e.Inherited }, `^[-.\w%+~=&]*$`, "a list of names and hashes"),
	form("command", func(e *Entry) *string { return &e.Command }, `^([0-9a-f]{8})?$`, "eight hexadecimal digits"),
	text("commit", func(e *Entry) *string { return &e.Commit }),
	text("reason", func(e *Entry) *string { return &e.Reason }),
	text("anchor", func(e *Entry) *string { return &e.Anchor }),
	ids("supersedes", func(e *Entry) *[]string { return &e.Supersedes }),
	ids("beside", func(e *Entry) *[]string { return &e.Beside }),
	field("removes", func(e *Entry) *string { return &e.Removes }, verbatim, parseID),
}

// ofRemoval are the keys of a file that takes another back.
var ofRemoval = []string{"what", "start", "commit", "reason", "supersedes", "beside", "removes"}

// field is a key for a field of an entry, whose zero value has no row.
func field[T comparable](name string, of func(*Entry) *T, format func(T) string,
	parser func(string) (T, error)) headKey {
	return headKey{name, func(e *Entry) string {
		if v := *of(e); v != *new(T) {
			return format(v)
		}
		return ""
	}, func(c *cells, cell string, e *Entry) { *of(e) = parse(c, name, cell, parser) }}
}

func text(name string, of func(*Entry) *string) headKey { return field(name, of, escape, unescape) }

func count(name string, of func(*Entry) *int) headKey {
	return field(name, of, strconv.Itoa, parseCount)
}

func number(name string, of func(*Entry) *float64) headKey {
	return field(name, of, formatNumber, parseNumber)
}

func form(name string, of func(*Entry) *string, pattern, what string) headKey {
	matches := input.Pattern(pattern)
	return field(name, of, verbatim, func(s string) (string, error) {
		if !matches().MatchString(s) {
			return "", fmt.Errorf("%q is not %s", s, what)
		}
		return s, nil
	})
}

func verbatim(s string) string { return s }

func ids(name string, of func(*Entry) *[]string) headKey {
	return headKey{name, func(e *Entry) string { return strings.Join(*of(e), " ") },
		func(c *cells, cell string, e *Entry) { *of(e) = parse(c, name, cell, parseIDs) }}
}

// profiled is a key with a word for each run, "-" for an unprofiled one. A single run with 0 has no row.
func profiled(name string, word func(model.Run) string) headKey {
	return headKey{name: name, write: func(e *Entry) string {
		cell := join(e.Runs, func(r model.Run) string {
			if r.Unprofiled {
				return missing
			}
			return word(r)
		})
		return measure.Either(cell == "0", "", cell)
	}}
}

// Kind is the kind of an entry: "record", "accept" or "remove".
func (e *Entry) Kind() string {
	switch {
	case e.Removes != "":
		return removal
	case e.Accepted:
		return accepted
	}
	return recorded
}

func (e *Entry) head() (out []row) {
	for _, k := range headKeys {
		if e.Removes != "" && !slices.Contains(ofRemoval, k.name) {
			continue
		}
		if cell := k.write(e); cell != "" {
			out = append(out, row{Scope: sessionScope, Key: k.name, Value: cell})
		}
	}
	return out
}

// maxStart is the latest start of a run in s after that of its session.
const maxStart = 1e6

// parseID reads the id of a session without a pattern: an old baseline lists many.
func parseID(s string) (string, error) {
	other := func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if s == "" || len(s) > 64 || strings.ContainsFunc(s, other) {
		return "", fmt.Errorf("%q is not a session id (letters, digits and hyphens)", s)
	}
	return s, nil
}

// parseBoard keeps serial numbers and UUIDs out.
func parseBoard(s string) (string, error) {
	if s != "" && !model.IsBoard(s) {
		return "", fmt.Errorf("%q is not a board's part number, such as 692-2G520-0282-001", s)
	}
	return s, nil
}

func (e *Entry) readRuns(c *cells, said map[string]placed) {
	const maxRuns = 100_000 // bounds what a cell may claim
	n := parse(c, "runs", said["runs"].Value, parseCount)
	if n < 1 || n > maxRuns {
		c.fail("runs", "a session has from 1 to %d runs, not %d", maxRuns, n)
		return
	}
	counts := func(key string) []int {
		return list(c, key, cmp.Or(said[key].Value, "0"), n, orMissing(0, parseCount))
	}
	skipped, total, launches := counts("skipped"), counts("total"), counts("launches")
	steady := list(c, "steady", said["steady"].Value, n, parseSteady)
	var starts []float64
	if cell := said["run_starts_s"].Value; cell != "" {
		starts = list(c, "run_starts_s", cell, n, parseSample)
	}
	if c.err != nil {
		return
	}
	for i := range n {
		run := model.Run{Unprofiled: true, Steady: true}
		if steady[i] != missing {
			run = model.Run{Skipped: skipped[i], Total: total[i], Launches: launches[i], Steady: steady[i] == "yes"}
		}
		e.Runs = append(e.Runs, run)
	}
	for i, at := range starts {
		if at > maxStart {
			c.fail("run_starts_s", "a run starts at most %d s after its session; restore the file from version control",
				int(maxStart))
			return
		}
		if !math.IsNaN(at) && !e.Start.IsZero() {
			e.Runs[i].Start = e.Start.Add(time.Duration(at * float64(time.Second)))
		}
	}
}

// formatStarts is when the runs of a session began, in s after its start, "-" where not known; "" where none is.
func formatStarts(s *model.Session) string {
	known := false
	starts := join(s.Runs, func(r model.Run) string {
		at := math.Round(r.Start.Sub(s.Start).Seconds()*10) / 10
		// or the session has the time of another one
		if s.Start.IsZero() || r.Start.IsZero() || at < 0 || at > maxStart {
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
