package gate

import (
	"slices"
	"time"
)

// Bisection is the answer of a search.
type Bisection struct {
	Schema   string `json:"schema"`
	Workload string `json:"workload,omitempty"`
	Good     Commit `json:"good"`
	Bad      Commit `json:"bad"`
	// Ends is the report of the bad end against the good one.
	Ends *Report `json:"ends"`
	// Followed is the finding of Ends whose change was looked for, nil where there is none to look for.
	Followed *Finding `json:"followed,omitempty"`
	// Commits are those after the good end, the oldest first.
	Commits []BisectedCommit `json:"commits"`
	// Culprits are the commits that hold most of the change, the largest first; none where it is spread over many.
	Culprits []Culprit `json:"culprits"`
	// Complete is false where time was up.
	Complete bool    `json:"complete"`
	Seconds  float64 `json:"seconds"`
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

// BisectedCommit is a commit of the line, and what is known of it.
type BisectedCommit struct {
	Commit
	// Change is how much slower than the good end it is, with its interval; nil where it was not measured.
	Change *Number `json:"change,omitempty"`
	Low    *Number `json:"low,omitempty"`
	High   *Number `json:"high,omitempty"`
	// Skipped says why it could not be measured.
	Skipped string `json:"skipped,omitempty"`
}

// Culprit is a commit that changes the number, or several next to each other of which one does.
type Culprit struct {
	Commits []Commit `json:"commits"`
	Change  Number   `json:"change"`
	Low     Number   `json:"low"`
	High    Number   `json:"high"`
	// Report is that of the culprit against the commit before it, nil where that was not measured.
	Report *Report `json:"report,omitempty"`
	// Refuted is true where that report does not show the change, by an interval that holds zero.
	Refuted bool `json:"refuted,omitempty"`
}

// Refuted reports whether nothing of the change is seen where each culprit is measured beside the commit before it.
func (b *Bisection) Refuted() bool {
	return len(b.Culprits) > 0 && !slices.ContainsFunc(b.Culprits, func(c Culprit) bool { return !c.Refuted })
}
