package history

import (
	"math"
	"slices"
	"time"

	"github.com/nsgate/nsgate/gate/internal/result"
)

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
