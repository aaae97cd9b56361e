package reason

// Plain is a reason without arguments.
type Plain struct{ kind, sentence string }

// Kind is what the reason is stored as.
func (r Plain) Kind() string { return r.kind }

func (r Plain) String() string { return r.sentence }

// The reasons without arguments.
var (
	CountsDiffer  = Plain{"counts-differ", "the baseline's sessions differ in this count, so it is not compared"}
	FromZero      = Plain{"from-zero", "was zero: no relative change can be given"}
	Gone          = Plain{"gone", "nothing in the head has its name or its place"}
	New           = Plain{"new", "nothing in the baseline has its name or its place"}
	OneRun        = Plain{"one-run", "a side has one run: without the spread between runs no change can be told from noise"}
	OutputDecides = Plain{"output-decides", "unprofiled runs decide about the program's speed; under a profiler the step explains"}
	Unmeasured    = Plain{"unmeasured", "two branches changed it, and their merge was never measured: record the merge commit on the default branch"}
	Waiting       = Plain{"waiting", "operations were issued and did not run: the GPU worked for another program, or waited for something unrecorded"}
	Zero          = Plain{"zero", "zero on both sides"}
	ZeroFloor     = Plain{"zero-floor", "was zero, and is less than the floor"}
)
