package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/internal/bisect"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/profile"
	"github.com/nsgate/nsgate/thresholds"
)

// Bisect finds the commits between two that made a workload slower. First it proves that the ends differ, measured by turns. Then
// commits between them are built in worktrees and measured by turns with the good end, and are asked how much of the change they
// have. At last each culprit is measured beside the commit before it, which gives its change and cause.
type Bisect struct {
	Workload string
	// Measurer measures a build as the head, see [Machine].
	Measurer func(head Build) Measurer
	// Build is the workload in the checkout here; each commit's is the same in its worktree.
	Build     Build
	Good, Bad string // git revisions; the line between them is that of first parents
	Script    string // a shell command that builds a worktree, "" where nothing needs to be built
	Policy    *thresholds.Policy
	Looks     []int // numbers of runs a side, ascending: the next is taken while a reading is open
	Rule      profile.Rule
	// Kernel and Metric choose the finding to follow, by the name that reports have or the short one, and by name; "" takes what matters most of what regressed.
	Kernel, Metric string
	// MaxTime ends the search when it is over, 0 for never. What is known by then is the answer.
	MaxTime time.Duration
	Explain Explain
	// Getenv looks up variables that may lead into the checkout here; nil for none.
	Getenv  func(string) string
	Observe func(Event)
}

// bisection is a search in progress.
type bisection struct {
	*Bisect
	line   []gate.Commit // the good end first
	search *bisect.Search
	out    *gate.Bisection
	base   string // what the good end calls the subject that is followed
	good   Build  // in its worktree
	until  time.Time
	state  state
}

// errTime ends a search whose time is up.
var errTime = errors.New("the time is up")

// Run searches. A [gate.Bisection] whose ends do not differ, or cannot be measured, has no finding to follow; the report of the ends
// says why. The error is a mistake of the caller or the end of ctx; what was measured by then is kept for the next Run.
func (c Bisect) Run(ctx context.Context) (*gate.Bisection, error) {
	start := time.Now()
	b := &bisection{Bisect: &c, out: &gate.Bisection{Schema: gate.BisectSchema, Workload: c.Workload, Culprits: []gate.Culprit{}}}
	if c.MaxTime > 0 {
		b.until = start.Add(c.MaxTime)
	}
	if err := b.findLine(ctx); err != nil {
		return nil, err
	}
	good, remove, err := b.at(ctx, b.line[0].ID)
	defer remove()
	if err == nil {
		b.good = good
		err = b.run(ctx)
	}
	if refusal := (*measure.Refusal)(nil); errors.As(err, &refusal) && b.out.Ends == nil {
		b.out.Ends, err = refused(nil, err)
	}
	b.out.Complete = !errors.Is(err, errTime)
	if err != nil && b.out.Complete {
		return nil, err
	}
	b.fill()
	b.out.Seconds = time.Since(start).Seconds()
	if b.out.Complete {
		b.state.remove()
	}
	return b.out, nil
}

func (b *bisection) run(ctx context.Context) error {
	if err := b.prove(ctx); err != nil || b.out.Followed == nil {
		return err
	}
	for {
		i, ok := b.search.Next()
		if !ok {
			return b.confirm(ctx)
		}
		if err := b.read(ctx, i); err != nil {
			return err
		}
	}
}

// findLine lists the commits.
func (b *bisection) findLine(ctx context.Context) error {
	ends := [2]*Base{{}, {}}
	for i, revision := range []string{b.Good, b.Bad} {
		if err := ends[i].At(ctx, revision); err != nil {
			return err
		}
	}
	good, bad := ends[0].revision.Commit, ends[1].revision.Commit
	if good == bad {
		return fmt.Errorf("%s and %s are the same commit: there is nothing between them", b.Good, b.Bad)
	}
	lines := git("", "log", "--reverse", "--first-parent", "--ancestry-path", "--format=%H%x00%an%x00%cI%x00%s", good+".."+bad)
	all := git("", "log", "-1", "--format=%H%x00%an%x00%cI%x00%s", good)
	if lines == "" {
		return fmt.Errorf("%s is no ancestor of %s, or the clone is too shallow to tell: git fetch --unshallow", b.Good, b.Bad)
	}
	for line := range strings.SplitSeq(all+"\n"+lines, "\n") {
		if cells := strings.SplitN(line, "\x00", 4); len(cells) == 4 {
			date, _ := time.Parse(time.RFC3339, cells[2])
			b.line = append(b.line, gate.Commit{ID: cells[0], Author: cells[1], Date: date, Subject: cells[3]})
		}
	}
	b.out.Good, b.out.Bad = b.line[0], b.line[len(b.line)-1]
	b.state = readState(b.key())
	return nil
}

// at checks a commit out and builds it.
func (b *bisection) at(ctx context.Context, commit string) (Build, func(), error) {
	base := &Base{Build: b.Build, Script: b.Script}
	if err := base.At(ctx, commit); err != nil {
		return Build{}, func() {}, err
	}
	if b.Getenv != nil {
		if err := base.Separate(b.Getenv); err != nil {
			return Build{}, func() {}, err
		}
	}
	base.revision.Ref = commit[:12]
	return base.ready(ctx, func(e Event) { tell(b.Observe, e) })
}

// beside measures a commit by turns with a build, and judges it.
func (b *bisection) beside(ctx context.Context, base Build, commit string, looks []int, explain Explain, enough func(*gate.Report) bool) (*gate.Report, error) {
	head, remove, err := b.at(ctx, commit)
	defer remove()
	if err != nil {
		return nil, err
	}
	var r *gate.Report
	all := &Measurement{}
	c := &Check{Workload: b.Workload, Measurer: b.Measurer(head), Base: &Base{Build: base}, Paired: true, Policy: b.Policy, Rule: b.Rule,
		Explain: explain, Observe: b.Observe}
	for i, taken := 0, 0; i < len(looks); i++ {
		r, err = c.look(ctx, looks[i]-taken, &base, all, func(m *Measurement) ([]measure.Session, []measure.Session, error) {
			return m.sessions(b.Rule, nil)
		}, b.Policy)
		if err != nil {
			return nil, err
		}
		if taken = looks[i]; enough(r) {
			break
		}
	}
	return r, cmp.Or(c.findOrigins(ctx, r), c.explain(ctx, r, &base))
}

// prove measures the ends and chooses what to follow. Ends that do not differ beyond the limits leave nothing to follow.
func (b *bisection) prove(ctx context.Context) (err error) {
	if b.out.Ends = b.state.Ends; b.out.Ends == nil {
		tell(b.Observe, Event{Stage: Bisecting, Text: "both ends"})
		b.out.Ends, err = b.beside(ctx, b.good, b.out.Bad.ID, b.Looks, ExplainNever, func(r *gate.Report) bool { return b.choose(r) != nil })
		if err != nil {
			return err
		}
		b.state.Ends = b.out.Ends
	}
	if b.out.Followed = b.choose(b.out.Ends); b.out.Followed == nil {
		return nil
	}
	b.base = goodName(b.out.Followed)
	b.search = bisect.New(len(b.line)-1, reading(b.out.Followed))
	return b.state.write()
}

// choose is the finding to follow: what was asked for, else of what regressed the whole workload before its parts.
func (b *Bisect) choose(r *gate.Report) *gate.Finding {
	asked := b.Kernel != "" || b.Metric != ""
	var best *gate.Finding
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case b.Kernel != "" && f.Kernel != b.Kernel && f.Title() != b.Kernel || b.Metric != "" && f.Metric != b.Metric:
		case f.Outcome != gate.Regressed || !asked && !f.Gates:
		case best == nil || best.Scope != measure.ScopeWorkload && f.Scope == measure.ScopeWorkload:
			best = f
		}
	}
	return best
}

// reading is how far a finding's head is from its base.
func reading(f *gate.Finding) bisect.Reading {
	return bisect.Reading{Change: float64(f.Change), Low: float64(f.Low), High: float64(f.High)}
}

// goodName is what the good end calls the subject of a finding.
func goodName(f *gate.Finding) string {
	if len(f.BaseNames) > 0 {
		return f.BaseNames[0]
	}
	return f.Name
}

// follow finds in a report what is followed; nil where a commit does not have it.
func (b *bisection) follow(r *gate.Report) *gate.Finding {
	i := slices.IndexFunc(r.Findings, func(f gate.Finding) bool {
		return f.Scope == b.out.Followed.Scope && f.Metric == b.out.Followed.Metric && f.Change.Known() && f.Low.Known() && f.High.Known() &&
			(f.Name == b.base || slices.Contains(f.BaseNames, b.base))
	})
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// read measures a commit beside the good end, and more often while what it reads is open.
func (b *bisection) read(ctx context.Context, i int) error {
	id := b.line[i].ID
	known, ok := b.state.Readings[id]
	if !ok {
		if !b.until.IsZero() && time.Now().After(b.until) {
			return errTime
		}
		tell(b.Observe, Event{Stage: Bisecting, Text: id[:12] + " " + b.line[i].Subject, Runs: b.search.Left()})
		whole := *b.search.At(len(b.line) - 1)
		clear := func(r *gate.Report) bool {
			f := b.follow(r)
			return f != nil && reading(f).Clear(whole)
		}
		r, err := b.beside(ctx, b.good, id, b.looks(), ExplainNever, clear)
		r, err = refused(r, err)
		switch f := (*gate.Finding)(nil); {
		case err != nil:
			return err
		case len(r.Findings) == 0:
			known.Skipped = r.Reason
		default:
			if f = b.follow(r); f == nil {
				known.Skipped = b.out.Followed.Kernel + " is not in it"
			} else if x := reading(f); !x.Clear(whole) {
				known.Skipped = fmt.Sprintf("too noisy to tell: between %+.2g %% and %+.2g %%", 100*x.Low, 100*x.High)
			} else {
				known.Reading = x
			}
		}
		b.state.Readings[id] = known
		if err := b.state.write(); err != nil {
			return err
		}
	}
	if known.Skipped != "" {
		b.search.Skip(i)
	} else {
		b.search.Read(i, known.Reading)
	}
	return nil
}

// looks are the numbers of runs of a reading: those that were asked for, and twice and four times the last.
func (b *Bisect) looks() []int {
	last := b.Looks[len(b.Looks)-1]
	return slices.Compact(append(slices.Clone(b.Looks), 2*last, 4*last))
}

// confirm measures each culprit beside the commit before it.
func (b *bisection) confirm(ctx context.Context) error {
	for _, x := range b.search.Found() {
		c := gate.Culprit{Change: gate.Number(x.Change), Low: gate.Number(x.Low), High: gate.Number(x.High)}
		for i := x.First; i <= x.Last; i++ {
			c.Commits = append(c.Commits, b.line[i])
		}
		b.out.Culprits = append(b.out.Culprits, c)
	}
	for i := range b.out.Culprits {
		c := &b.out.Culprits[i]
		if !b.until.IsZero() && time.Now().After(b.until) {
			return errTime
		}
		before := slices.IndexFunc(b.line, func(x gate.Commit) bool { return x.ID == c.Commits[0].ID }) - 1
		id := c.Commits[len(c.Commits)-1].ID
		tell(b.Observe, Event{Stage: Bisecting, Text: id[:12] + " beside the commit before it"})
		base, remove, err := b.at(ctx, b.line[before].ID)
		if err == nil {
			c.Report, err = b.beside(ctx, base, id, b.looks(), b.Explain, b.shows)
		}
		remove()
		if c.Report, err = refused(c.Report, err); err != nil {
			return err
		}
		if f := b.follow(c.Report); f != nil {
			c.Change, c.Low, c.High = f.Change, f.Low, f.High
			c.Refuted = !b.shows(c.Report)
		}
	}
	return nil
}

// shows reports whether a report's interval of what is followed lies on one side of zero.
func (b *bisection) shows(r *gate.Report) bool {
	f := b.follow(r)
	return f != nil && (f.Low > 0 || f.High < 0)
}

// fill lists what is known of every commit.
func (b *bisection) fill() {
	for i, c := range b.line[1:] {
		x := gate.BisectedCommit{Commit: c, Skipped: b.state.Readings[c.ID].Skipped}
		if b.search != nil {
			if r := b.search.At(i + 1); r != nil {
				x.Change, x.Low, x.High = new(gate.Number(r.Change)), new(gate.Number(r.Low)), new(gate.Number(r.High))
			}
		}
		b.out.Commits = append(b.out.Commits, x)
	}
	if b.search != nil && !b.out.Complete && len(b.out.Culprits) == 0 {
		for _, x := range b.search.Found() {
			b.out.Culprits = append(b.out.Culprits, gate.Culprit{Commits: slices.Clone(b.line[x.First : x.Last+1]),
				Change: gate.Number(x.Change), Low: gate.Number(x.Low), High: gate.Number(x.High)})
		}
	}
}

// key tells one search from another.
func (b *bisection) key() string {
	words := slices.Concat([]string{b.out.Good.ID, b.out.Bad.ID, b.Workload, b.Script, b.Build.Dir, b.Kernel, b.Metric}, b.Build.Command)
	return strings.Join(words, "\x00")
}

// state is what a search has measured, kept in the git directory until it has ended.
type state struct {
	file     string
	Key      string
	Ends     *gate.Report
	Readings map[string]known // by commit
}

type known struct {
	bisect.Reading
	Skipped string
}

// readState is what an earlier search of the same kind left, empty where there is none.
func readState(key string) state {
	fresh := state{Key: key, Readings: map[string]known{}}
	if dir := git("", "rev-parse", "--path-format=absolute", "--git-dir"); dir != "" {
		fresh.file = filepath.Join(dir, "nsgate-bisect.json")
	}
	text, err := os.ReadFile(fresh.file)
	kept := state{}
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Key != key || kept.Readings == nil {
		return fresh
	}
	kept.file = fresh.file
	return kept
}

func (s *state) write() error {
	if s.file == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(s.file, text, 0o600)
	}
	return err
}

func (s *state) remove() {
	if s.file != "" {
		os.Remove(s.file)
	}
}
