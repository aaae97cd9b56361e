package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// A step is a culprit from this part of the whole change on. What is spread over more commits than that has none.
const part = 0.2

// Reading is how far the number of a commit is from that of the good end, as a relative change with its interval.
type Reading struct {
	Change result.Number `json:"change"`
	Low    result.Number `json:"low"`
	High   result.Number `json:"high"`
}

func around(change, noise float64) Reading {
	return Reading{result.Number(change), result.Number(change - noise), result.Number(change + noise)}
}

func (r Reading) noise() float64 { return float64(r.High-r.Low) / 2 }

// factor is the number of the commit relative to that of the good end.
func (r Reading) factor() float64 { return 1 + float64(r.Change) }

func (r Reading) size() float64 { return math.Abs(float64(r.Change)) }

// Clear reports whether a reading tells a step of the least size that counts, of this whole, from none.
func (r Reading) Clear(whole Reading) bool { return r.noise() <= part*whole.size() }

// Nearer is the end that a reading lies nearer to, "good" or "bad"; "" where its interval holds the middle.
func (r Reading) Nearer(whole Reading) string {
	share := whole.Change / 2
	switch {
	case share > 0 && r.High < share, share < 0 && r.Low > share:
		return "good"
	case share > 0 && r.Low > share, share < 0 && r.High < share:
		return "bad"
	}
	return ""
}

// fromGood turns how far a commit is from the bad end into how far it is from the good one.
func (r Reading) fromGood(whole Reading) Reading {
	return around(whole.factor()*r.factor()-1, math.Hypot(r.noise()*whole.factor(), whole.noise()*r.factor()))
}

// Between is how far a commit is from the good end of a line, as it reads beside the good end and beside the bad one,
// each weighed by the inverse square of its noise; nil where it was not read beside that end. It is clear where it
// tells a step of the least size that counts from none, and the two agree.
func Between(good, bad *Reading, whole Reading) (at Reading, clear bool) {
	switch {
	case good == nil && bad == nil:
		return Reading{}, false
	case bad == nil:
		return *good, good.Clear(whole)
	}
	other := bad.fromGood(whole)
	if good == nil {
		return other, other.Clear(whole)
	}
	const least = 1e-9 // of a noise that is weighed
	a, b := math.Pow(max(good.noise(), least), -2), math.Pow(max(other.noise(), least), -2)
	at = around((a*float64(good.Change)+b*float64(other.Change))/(a+b), 1/math.Sqrt(a+b))
	agree := math.Abs(float64(good.Change-other.Change)) <= good.noise()+other.noise() // both can be true
	return at, at.Clear(whole) && agree
}

// Search holds the readings of a line of commits, 0 the good end; nil for a commit without one.
//
// Unlike git bisect it does not ask whether a commit is good or bad, which noise near a limit answers wrongly, but how
// much of the whole change a commit has. A step between neighbours that is a good part of the whole is a culprit.
type Search struct {
	Readings []*Reading
	Skipped  []bool // the commit cannot be read: it does not build, say
}

// NewSearch searches a line of n commits after the good end; the last, number n, is the bad end, which reads so.
func NewSearch(n int, bad Reading) *Search {
	s := &Search{Readings: make([]*Reading, n+1), Skipped: make([]bool, n+1)}
	s.Readings[0], s.Readings[n] = &Reading{}, &bad
	return s
}

// Step is a part of the change, between two commits that were read: it lies in one of First to Last.
type Step struct {
	First, Last int
	Reading     // of the last beside the commit before the first
}

// Found are changes between neighbours that are culprits or hold some, the largest first; none where it is spread out.
func (s *Search) Found() (out []Step) {
	whole := *s.Readings[len(s.Readings)-1]
	last := 0
	for i := 1; i < len(s.Readings); i++ {
		r := s.Readings[i]
		if r == nil {
			continue
		}
		from := s.Readings[last]
		change, noise := r.factor()/from.factor()-1, math.Hypot(r.noise(), from.noise())
		if grown := change * math.Copysign(1, float64(whole.Change)); grown >= part*whole.size() && grown > noise {
			out = append(out, Step{last + 1, i, around(change, noise)})
		}
		last = i
	}
	measure.Sort(out, func(a, b Step) int { return cmp.Compare(b.size(), a.size()) })
	return out
}

// Next is the middle commit within the largest change between commits that are no neighbours; ok where one is left.
func (s *Search) Next() (i int, ok bool) {
	for _, x := range s.Found() {
		if i, ok := s.middle(x); ok {
			return i, true
		}
	}
	return 0, false
}

// middle is the commit nearest the middle of those within a step that can still be read.
func (s *Search) middle(x Step) (i int, ok bool) {
	best := -1
	for i := x.First; i < x.Last; i++ {
		if !s.Skipped[i] && (best < 0 || abs(2*i-x.First-x.Last+1) < abs(2*best-x.First-x.Last+1)) {
			best = i
		}
	}
	return best, best >= 0
}

func abs(n int) int { return max(n, -n) }

// Left is about how many commits are still to be read at most.
func (s *Search) Left() int {
	n := 0
	for _, x := range s.Found() {
		for span := x.Last - x.First; span > 0; span /= 2 {
			n++
		}
	}
	return n
}

// Bisection is the answer of a search.
type Bisection struct {
	Schema   string `json:"schema"`
	Workload string `json:"workload,omitempty"`
	Good     Commit `json:"good"`
	Bad      Commit `json:"bad"`
	// Ends is the report of the bad end against the good one.
	Ends *result.Report `json:"ends"`
	// Followed is the finding of Ends whose change was looked for, nil where there is none to look for.
	Followed *result.Finding `json:"followed,omitempty"`
	// Nearest is the finding that would be followed if it had regressed, where none is: the requested one, else the
	// slowest of the whole workload. It is nil where there is none.
	Nearest *result.Finding `json:"nearest,omitempty"`
	// RunsNeeded is the number of runs a side that detects the change of Nearest with 80 % power. It is 0 if those
	// taken do, if Nearest is not slower, and if unknown.
	RunsNeeded int `json:"runs_needed,omitempty"`
	// Commits are those after the good end, the oldest first.
	Commits []BisectedCommit `json:"commits"`
	// Culprits are the commits that hold most of the change, the largest first; none where it is spread over many.
	Culprits []Culprit `json:"culprits"`
	// Complete is false where time was up.
	Complete bool `json:"complete"`
	// Seconds are those of all searches for it, where one was cut off and the next went on.
	Seconds float64 `json:"seconds"`
}

// BisectSchema is the schema of a [Bisection].
const BisectSchema = "nsgate.bisection/1"

// Commit is a commit of the repository here.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"` // untrusted
	Author  string    `json:"author"`  // untrusted
	Date    time.Time `json:"date"`
}

// BisectedCommit is a commit of the line, with its measured change.
type BisectedCommit struct {
	Commit
	// Change is how much slower than the good end it is, by both ends, with its interval; nil if not measured.
	Change *result.Number `json:"change,omitempty"`
	Low    *result.Number `json:"low,omitempty"`
	High   *result.Number `json:"high,omitempty"`
	// FromGood and FromBad are how much slower it is than each end, measured interleaved with it.
	FromGood *Reading `json:"from_good,omitempty"`
	FromBad  *Reading `json:"from_bad,omitempty"`
	// Nearer is the end that it is nearer to: "good" or "bad", "" where its interval holds the middle between them.
	Nearer string `json:"nearer,omitempty"`
	// Skipped says why it could not be measured.
	Skipped string `json:"skipped,omitempty"`
}

// Culprit is a commit that changes the number, or several adjacent commits with such a one among them.
type Culprit struct {
	Commits []Commit `json:"commits"`
	Reading
	// Report is that of the culprit against the commit before it, nil where that was not measured.
	Report *result.Report `json:"report,omitempty"`
	// Refuted is true where that report does not show the change, by an interval that holds zero.
	Refuted bool `json:"refuted,omitempty"`
}

// Unproven notes the worst of these findings, for ends that do not differ, and the runs that would prove it. The
// interval of a change narrows with the square root of the runs, as long as they are of one session.
func (b *Bisection) Unproven(candidates []*result.Finding) {
	for _, f := range candidates {
		if f.Low.Known() && f.High.Known() && (b.Nearest == nil || f.Harm() > b.Nearest.Harm()) {
			b.Nearest = f
		}
	}
	f := b.Nearest
	if f == nil || f.Harm() <= 0 || f.Low > 0 || f.High < 0 || !f.MDE.Known() {
		return
	}
	runs := float64(min(b.Ends.Base.Runs, b.Ends.Head.Runs))
	b.RunsNeeded = max(int(runs)+1, int(math.Ceil(min(runs*math.Pow(float64(f.MDE)/f.Harm(), 2), 1e9))))
}

// Refuted reports whether no culprit shows the change when measured beside the commit before it.
func (b *Bisection) Refuted() bool {
	return len(b.Culprits) > 0 && !slices.ContainsFunc(b.Culprits, func(c Culprit) bool { return !c.Refuted })
}
