package reason

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Slower is a gate that fails. What names the subjects that are slower, the worst first.
type Slower struct{ What string }

func (r Slower) String() string { return "slower: " + r.What }

// Undecided is a gate that passes with undecided comparisons. Finding is the index of the first, Because its reason.
// Listed is that of [NoneSlower].
type Undecided struct {
	Finding                 int
	Kernel, Metric, Because string
	Others, Listed          bool
}

func (r Undecided) String() string {
	certain := measure.Either(r.Listed, "fails the gate for certain, some are slower", "is slower for certain")
	return "nothing " + certain + "; undecided" + measure.Either(r.Others, " among others", "") + ": " +
		result.Title(r.Metric) + " of " + r.Kernel + ": " + r.Because
}

// NoneSlower is a gate without a failure. Listed is true if subjects are slower without failing it: parts of a whole
// that is not worse, cheap ones, or allowed ones.
type NoneSlower struct {
	Comparisons int
	Listed      bool
}

func (r NoneSlower) String() string {
	return measure.Count(r.Comparisons, "comparison") +
		measure.Either(r.Listed, ", none fails the gate; some are slower", ", none slower than its limit allows")
}

// Workloads is the verdict of several workloads. Listed is that of [NoneSlower], of any workload.
type Workloads struct {
	Failed, Open, Undecided []string
	All                     int
	Listed                  bool
}

func (r Workloads) String() string {
	all := measure.Count(r.All, "workload")
	switch {
	case len(r.Failed) > 0:
		open := strings.Join(r.Open, ", ")
		return strconv.Itoa(len(r.Failed)) + " of " + all + " failed: " + strings.Join(r.Failed, ", ") +
			result.Given(open, "; no verdict on ", open)
	case len(r.Open) > 0:
		return "no verdict on " + strconv.Itoa(len(r.Open)) + " of " + all + ": " + strings.Join(r.Open, ", ")
	case len(r.Undecided) > 0:
		return "nothing " + measure.Either(r.Listed, "fails", "is slower") + " for certain, but " +
			strconv.Itoa(len(r.Undecided)) + " of " + all + " undecided: " + strings.Join(r.Undecided, ", ")
	}
	return all + ", none " + measure.Either(r.Listed, "fails the gate; some are slower", "slower than its limits allow")
}

// Drifting is a change in steps that add up to more than those of unchanged code.
type Drifting struct {
	Kernel, Metric string
	Change         result.Number
	Interval
	Since, Commit string
	Sessions      int
	Also          []string
}

func (r Drifting) String() string {
	return r.since(0) + ", in steps that add up to more than those of unchanged code" +
		result.Given(r.also(), "; ", r.also(), " as well")
}

func (r Drifting) also() string { return result.Few(r.Also) }

func (r Drifting) since(accepted int) string {
	return r.Kernel + " " + result.Title(r.Metric) + " drifted " + r.Change.Change() + " (" + r.Interval.String() +
		") since " + cmp.Or(r.Since, "the oldest session") + result.Given(r.Commit, " at ", r.Commit) + " over " +
		measure.Either(accepted > 0, measure.Count(accepted, "accepted change"), measure.Count(r.Sessions, "session"))
}

// Drifted is a change since the anchor that many sessions add up to.
type Drifted struct {
	Drifting
	Limit    result.Number
	Accepted int
}

func (r Drifted) String() string {
	return r.since(r.Accepted) + ", beyond the limit of " + r.Limit.Percent() +
		result.Given(r.also(), "; so did ", r.also()) +
		": accept it as a new anchor, or look for it in what was merged since"
}

// OverDrift is drift beyond what a rule allows, which fails the gate.
type OverDrift struct {
	Drifted
	Rule string
}

func (r OverDrift) String() string {
	return r.since(r.Accepted) + ", more than the " + r.Limit.Percent() + " that " + r.Rule + " allows" +
		result.Given(r.also(), "; so did ", r.also())
}
