package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/result"
)

// A launch is one row of an export as this test reads it: a launch of a kernel, or what is summed of several.
type launch struct {
	name string
	ns   float64
	n    float64 // launches
}

// An export is one file that a profiler or nsgate wrote, parsed without nsgate's readers.
type export interface {
	launches() []launch
	remove(i int)
	repeat(i int)
	scale(i int, factor float64)
	// damage puts something else in place of one value anywhere.
	damage(r *rand.Rand)
	// save writes the file. blind leaves out what the profiler says of how much there is.
	save(file string, blind bool) error
}

// A format is two sides of unchanged runs.
type format struct {
	name string
	open func(file string) (export, error)
	base string // directory
	head []string
	// calls is whether a file still holds the calls of launches that were removed, so that they are lost and not gone.
	calls bool
}

// change is a mutation of a file: launches that it removes, repeats or scales.
type change struct {
	name string
	do   func(x export, c *mutation, r *rand.Rand)
}

var changes = []change{
	{"remove the kernel", func(x export, c *mutation, _ *rand.Rand) { each(x, c.ofKernel, x.remove) }},
	{"remove launches of the kernel", func(x export, c *mutation, r *rand.Rand) {
		each(x, func(l launch) bool { return c.ofKernel(l) && r.Float64() < c.part }, x.remove)
	}},
	{"remove launches", func(x export, c *mutation, r *rand.Rand) {
		each(x, func(launch) bool { return r.Float64() < c.part }, x.remove)
	}},
	{"remove a piece", func(x export, c *mutation, _ *rand.Rand) {
		all := len(x.launches())
		for i := int(c.from * float64(all)); i < int(min(1, c.from+c.part)*float64(all)); i++ {
			x.remove(i)
		}
	}},
	{"repeat the kernel", func(x export, c *mutation, _ *rand.Rand) { each(x, c.ofKernel, x.repeat) }},
	{"slow the kernel", func(x export, c *mutation, _ *rand.Rand) {
		each(x, c.ofKernel, func(i int) { x.scale(i, c.factor) })
	}},
	{"slow everything", func(x export, c *mutation, _ *rand.Rand) {
		each(x, func(launch) bool { return true }, func(i int) { x.scale(i, c.factor) })
	}},
	{"damage values", func(x export, c *mutation, r *rand.Rand) {
		for range c.values {
			x.damage(r)
		}
	}},
}

func each(x export, which func(launch) bool, do func(i int)) {
	for i, l := range x.launches() {
		if which(l) {
			do(i)
		}
	}
}

// A mutation is one damaged head.
type mutation struct {
	seed   uint64
	format *format
	change change
	kernel string
	part   float64 // of launches
	from   float64
	factor float64
	values int
	files  []string // of the head that are changed
	blind  bool
}

func (c *mutation) ofKernel(l launch) bool { return l.name == c.kernel }

func (c *mutation) String() string {
	return fmt.Sprintf("NSGATE_MUTATE_SEED=%d: %s, %s %q, part %.2f from %.2f, factor %.2f, %d values, "+
		"%d of %d runs, blind %t", c.seed, c.format.name, c.change.name, c.kernel, c.part, c.from, c.factor, c.values,
		len(c.files), len(c.format.head), c.blind)
}

// newMutation draws a mutation by its seed alone.
func newMutation(seed uint64, formats []*format) (*mutation, *rand.Rand, error) {
	r := rand.New(rand.NewPCG(seed, 40))
	f := formats[r.IntN(len(formats))]
	x, err := f.open(f.head[0])
	if err != nil {
		return nil, nil, err
	}
	all := x.launches()
	c := &mutation{
		seed: seed, format: f, change: changes[r.IntN(len(changes))], kernel: all[r.IntN(len(all))].name,
		part: []float64{0.1, 0.3, 0.5, 0.9}[r.IntN(4)], from: r.Float64(),
		factor: []float64{1.05, 1.2, 1.5, 4}[r.IntN(4)],
		values: 1 + r.IntN(3), files: f.head, blind: r.IntN(2) == 0,
	}
	if r.IntN(4) == 0 {
		c.files = f.head[:1+r.IntN(len(f.head))]
	}
	return c, r, nil
}

// head writes the head of a mutation to a directory.
func (c *mutation) head(r *rand.Rand, dir string) error {
	for _, file := range c.format.head {
		to := filepath.Join(dir, filepath.Base(file))
		if err := exec.Command("cp", file, to).Run(); err != nil {
			return err
		}
		if !slices.Contains(c.files, file) {
			continue
		}
		x, err := c.format.open(to)
		if err != nil {
			return err
		}
		c.change.do(x, c, r)
		if err := x.save(to, c.blind); err != nil {
			return err
		}
	}
	return nil
}

// sumsOf sums the launches of a side by kernel, as a mean over its files; nil where a file cannot be parsed any more.
func sumsOf(f *format, dir string) map[string]launch {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	sums := map[string]launch{}
	for _, file := range files {
		x, err := f.open(file)
		if err != nil {
			return nil
		}
		for _, l := range x.launches() {
			s := sums[l.name]
			s.n, s.ns = s.n+l.n/float64(len(files)), s.ns+l.ns/float64(len(files))
			sums[l.name] = s
		}
	}
	return sums
}

// harm is why a head must not pass without a word, by its own sums; "" for none. kernel is which it is about, "" for
// all.
func harm(base, head map[string]launch) (kernel, why string) {
	const share, lost, slower, wholeSlower = 0.05, 0.7, 1.2, 1.1
	whole, wholeHead := 0.0, 0.0
	for _, l := range base {
		whole += l.ns
	}
	for _, l := range head {
		wholeHead += l.ns
	}
	for name, b := range base {
		h := head[name]
		switch {
		case b.ns < share*whole:
		case h.n < lost*b.n:
			return name, fmt.Sprintf("%.0f launches of %.0f, %.0f %% of the GPU time, are left", h.n, b.n,
				100*b.ns/whole)
		case h.ns > slower*b.ns:
			return name, fmt.Sprintf("takes %.2f times as long", h.ns/b.ns)
		}
	}
	if wholeHead > wholeSlower*whole {
		return "", fmt.Sprintf("all kernels take %.2f times as long", wholeHead/whole)
	}
	return "", ""
}

// try runs nsgate on a mutation and returns its answer in a word, and what is wrong with it, nil for nothing.
func (c *mutation) try(r *rand.Rand, dir string) (answer string, err error) {
	head, file := filepath.Join(dir, "head"), filepath.Join(dir, "report.json")
	if err := os.Mkdir(head, 0o700); err != nil {
		return "", err
	}
	if err := c.head(r, head); err != nil {
		return "", fmt.Errorf("the mutator failed: %w", err)
	}
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsgate", "compare", "--report", "json="+file, c.format.base, head)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	text, code := string(out), cmd.ProcessState.ExitCode()
	var saved savedReport
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &saved); err != nil {
			return "", err
		}
	}
	answer = fmt.Sprintf("exit code %d %s", code, saved.Key)
	switch {
	case ctx.Err() != nil:
		return answer, fmt.Errorf("no answer within %v", patience)
	case code < 0 || code > 3 || strings.Contains(text, "panic:") || strings.Contains(text, "goroutine "):
		return answer, fmt.Errorf("exit code %d\n%s", code, text)
	case code == 3 && !strings.Contains(text, "Next"):
		return answer, fmt.Errorf("no verdict without a next step\n%s", text)
	case code != 0:
		return answer, nil
	}
	kernel, why := harm(sumsOf(c.format, c.format.base), sumsOf(c.format, head))
	if why != "" && !saved.names(kernel, c.format.calls) {
		return answer, fmt.Errorf("a silent pass: %s %s\n%s", kernel, why, text)
	}
	return answer, nil
}

// savedReport is the tested part of a saved report.
type savedReport struct {
	Key      string `json:"reason_key"`
	Warnings []string
	Findings result.Findings `json:"subjects"`
}

// names reports whether a report says anything of a kernel, or warns of anything. That the kernel is gone is not enough
// where its calls are there.
func (r *savedReport) names(kernel string, calls bool) bool {
	short, _, hashed := strings.Cut(kernel, "#") // as a baseline has it
	for _, f := range r.Findings {
		said := slices.Contains([]result.Outcome{"slower", "undecided", "new"}, f.Outcome) ||
			f.Outcome == "gone" && !calls
		if said && (f.Name == kernel || kernel == "" || hashed && f.Kernel == short) {
			return true
		}
	}
	return len(r.Warnings) > 0
}

// silentOnce are seeds of mutations that passed without a word: runs of one loop that lost their last cycles.
var silentOnce = []uint64{1795734259603842611, 1795734259603843783, 1795734259603845529}

// TestMutations damages real exports by their structure and demands an answer: no head that lost launches or got slower
// passes without a word. $NSGATE_MUTATE is for how long ("1m"), $NSGATE_MUTATE_SEED the seed of the first mutation, or
// of the only one.
func TestMutations(t *testing.T) {
	t.Parallel()
	most, until, seed := 8+len(silentOnce), time.Now().Add(time.Hour), uint64(1)
	if s := os.Getenv("NSGATE_MUTATE"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		most, until, seed = 1<<30, time.Now().Add(d), uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("NSGATE_MUTATE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
		if os.Getenv("NSGATE_MUTATE") == "" {
			most = 1
		}
	}
	var known []uint64
	if os.Getenv("NSGATE_MUTATE_SEED") == "" {
		known = silentOnce
	}
	formats := seeds(t)
	for _, f := range formats { // a format that is refused unchanged tests nothing
		if out, err := exec.Command("nsgate", "compare", f.base, filepath.Dir(f.head[0])).CombinedOutput(); err != nil {
			t.Errorf("%s, unchanged: %v\n%s", f.name, err, out)
		}
	}
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		next   int
		counts = map[string]int{}
	)
	for range 2 {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= most || time.Now().After(until) {
					return
				}
				of := seed + uint64(i)
				if i < len(known) {
					of = known[i]
				}
				c, r, err := newMutation(of, formats)
				if err != nil {
					t.Error(err)
					return
				}
				dir, err := os.MkdirTemp("", "mutation")
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := c.try(r, dir)
				os.RemoveAll(dir)
				mu.Lock()
				counts[c.format.name+": "+answer]++
				mu.Unlock()
				if err != nil {
					t.Errorf("%v: %v", c, err)
				}
			}
		})
	}
	wait.Wait()
	keys := []string{}
	for k, n := range counts {
		keys = append(keys, fmt.Sprintf("%s %d times", k, n))
	}
	slices.Sort(keys)
	t.Logf("%d mutations from NSGATE_MUTATE_SEED=%d:\n%s", min(next, most), seed, strings.Join(keys, "\n"))
}
