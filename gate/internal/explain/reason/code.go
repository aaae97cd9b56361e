package reason

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// CodeLimit is device code beyond a limit. Base is unknown for a new kernel.
type CodeLimit struct {
	Kernel, Arch, Metric string
	Base, Head           result.Number
	Rule                 string
}

func (r CodeLimit) String() string {
	m, _ := measure.MetricByName(r.Metric)
	return "device code of " + r.Kernel + " (" + r.Arch + "): " + result.Title(r.Metric) + " " +
		r.Base.Given(r.Base.Text()+" → ") + r.Head.Text() +
		measure.Either(m.Unit == measure.CopyBytes.Unit, " B", "") + ", beyond " + r.Rule
}

// CodeCounts is how many kernels have other device code.
type CodeCounts struct{ Changed, Added, Removed, Same int }

// CodeDiffers is device code that changed beside a measurement.
type CodeDiffers struct{ CodeCounts }

func (r CodeDiffers) String() string {
	n := func(n int) string { return result.Number(n).Text() }
	return "device code: " + n(r.Changed) + " changed, " + n(r.Added) + " added, " + n(r.Removed) + " removed, " +
		n(r.Same) + " the same"
}

// CodeChanged is the verdict on device code without measured times. Most is the largest change, in words.
type CodeChanged struct {
	CodeCounts
	Most string
}

func (r CodeChanged) String() string {
	if r.Changed+r.Added+r.Removed == 0 {
		return "device code unchanged (" + measure.Count(r.Same, "kernel") + "); no time was measured"
	}
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{r.Changed, "changed"}, {r.Added, "added"}, {r.Removed, "removed"}, {r.Same, "the same"}} {
		if x.n > 0 {
			n := measure.Either(parts == nil, measure.Count(x.n, "kernel"), result.Number(x.n).Text())
			parts = append(parts, n+" "+x.what)
		}
	}
	return "device code: " + strings.Join(parts, ", ") + "; " + r.Most + "; no time was measured: measure it on a GPU"
}

// CodeOfKernel is a kernel whose device code changed, where its time may not have been measured.
type CodeOfKernel struct{ Kernel, Arch, What string }

func (r CodeOfKernel) String() string { return r.Kernel + " (" + r.Arch + "): " + r.What }

type CodeOfMore struct{ Kernels int }

func (r CodeOfMore) String() string {
	return "device code of " + measure.Count(r.Kernels, "more kernel") + " changed, was added or removed"
}

type CodeChangedHere struct{ Arch, What string }

func (r CodeChangedHere) String() string { return "code changed (" + r.Arch + "): " + r.What }

// SameCode is kernels whose time changed and whose code did not. The SM clocks are medians of samples during the runs
// in MHz, both 0 where they do not explain the change.
type SameCode struct{ BaseClock, HeadClock int }

func (r SameCode) String() string {
	if r.HeadClock > 0 {
		return "same code: the SM clock was " + result.Number(r.BaseClock).Text() + " MHz in the baseline and " +
			result.Number(r.HeadClock).Text() + " MHz in the head"
	}
	return "same code: the input, a clock, memory, the driver or a neighbour makes the difference"
}

type SameCodeOfAll struct{ Kernels int }

func (r SameCodeOfAll) String() string {
	return "same code: the device code of " + measure.Count(r.Kernels, "kernel") + " is that of the baseline"
}

// ChangedLines are the lines of a kernel's code that changed since the baseline, each place with its function. Launch
// is true for lines that launch it.
type ChangedLines struct {
	Lines  []string
	Launch bool
}

func (r ChangedLines) String() string {
	return "changed since the baseline" + measure.Either(r.Launch, ", where it is called", "") + ": " +
		strings.Join(r.Lines, "; ")
}

// NoChangedLines is a kernel whose lines are those of the baseline, or those of its definition where it is known alone,
// or those that launch it, in a function or outside. Files are those that hold them, Elsewhere changed lines of other
// code. Command is true where the command differs from the baseline's.
type NoChangedLines struct {
	Files, Elsewhere                     []string
	Definition, Launch, Outside, Command bool
}

func (r NoChangedLines) String() string {
	text, where := "no changed line in its code: ", "its functions in "+result.Few(r.Files)+" are those of the baseline"
	other := "the compiler, its options and libraries"
	switch {
	case r.Launch:
		text, other = "no changed line where it is called: ", "input, environment variables and libraries"
		where = measure.Either(r.Outside, "the code outside of functions", "the function") + " in " +
			result.Few(r.Files) + " is that of the baseline"
	case r.Definition:
		text, where = "no changed line in its definition: ", result.Few(r.Files)+" has that of the baseline"
		other = "functions that it calls, the compiler, its options and libraries"
	}
	if r.Command {
		other = "the command, which differs from the baseline's, then " + other
	}
	if len(r.Elsewhere) == 0 {
		return text + where + ", and no other source file changed: see " + other
	}
	return text + where + "; changed elsewhere: " + strings.Join(r.Elsewhere, "; ") +
		measure.Either(r.Command, "; the command differs, too", "")
}

// OtherParts are operations that a compiler fuses into the kernel on one side alone. Instead is the kernel of the
// baseline that the same function made, "" for the one of this name.
type OtherParts struct {
	New, Gone []string
	Instead   string
}

func (r OtherParts) String() string {
	return "the operations fused into it differ" +
		result.Given(r.Instead, " from those of ", r.Instead, " in the baseline") + ":" +
		measure.Either(len(r.New) > 0, " new "+result.Few(r.New), "") +
		measure.Either(len(r.New) > 0 && len(r.Gone) > 0, ";", "") +
		measure.Either(len(r.Gone) > 0, " gone "+result.Few(r.Gone), "")
}

// AddedOperation is an operation with a kernel of this name that the baseline lacks.
type AddedOperation struct{ Path string }

func (r AddedOperation) String() string {
	return "the operation " + r.Path + " has a kernel of this name, too, and is not in the baseline"
}

// NoLines is a kernel whose lines are not known.
type NoLines struct{ Because string }

func (r NoLines) String() string { return "changed lines are not known: " + r.Because }
