package reason

import "github.com/nsgate/nsgate/gate/internal/result"

// Plain is a reason without arguments.
type Plain struct{ key, sentence string }

// Key is the stored name of the reason.
func (r Plain) Key() string { return r.key }

func (r Plain) String() string { return r.sentence }

func plain(key, sentence string) Plain {
	r := Plain{key, sentence}
	result.Keyed(key, r, sentence)
	return r
}

// The reasons without arguments.
var (
	CountFromZero  = plain(result.KeyCountFromZero, "was zero; no rule limits this count")
	CountsDiffer   = plain("counts-differ", "the baseline's sessions differ in this count, so it is not compared")
	FromZero       = plain("from-zero", "was zero: no relative change can be given")
	Gone           = plain("gone", "nothing in the head has its name or its place")
	IncreasedCount = plain(result.KeyIncreased, "increased; no rule limits this count")
	New            = plain("new", "nothing in the baseline has its name or its place")
	OneRun         = plain(result.KeyOneRun,
		"a side has one run: without the spread between runs no change can be told from noise")
	OutputDecides = plain("output-decides",
		"unprofiled runs decide about the program's speed; under a profiler the step explains")
	Shorter    = plain("shorter", "as many launches as in the baseline: kernels got shorter than 10 µs")
	Unmeasured = plain(result.KeyUnmeasured,
		"two branches changed it, and their merge was never measured: record the merge commit on the default branch")
	OneHost = plain("one-host",
		"the files name no host and are taken for those of one; where they come from different ones, set same_host "+
			"= false")
	HostNamed = plain("host-named", "same_host = false does nothing: a side names its host")
	Waiting   = plain(result.KeyWaiting,
		"most of the change is time in which issued operations waited: for an event, another stream, or another "+
			"program on the GPU")
	Zero      = plain("zero", "zero on both sides")
	ZeroFloor = plain("zero-floor", "was zero, and is less than the floor")
)
