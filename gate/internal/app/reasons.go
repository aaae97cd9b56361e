package app

import (
	"github.com/nsgate/nsgate/gate/internal/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/ncu"
	"github.com/nsgate/nsgate/gate/internal/nsys"
	"github.com/nsgate/nsgate/gate/internal/nsysjax"
	"github.com/nsgate/nsgate/gate/internal/nsysstats"
	"github.com/nsgate/nsgate/gate/internal/profile"
	"github.com/nsgate/nsgate/gate/internal/run"
	"github.com/nsgate/nsgate/gate/internal/torch"
	"github.com/nsgate/nsgate/gate/internal/trace"
)

// Reasons are all causes for which nothing is measured, or what was is not used, beside those of the readers, of the
// collector and of the decision.
var Reasons = model.Reasons{
	{Key: "no-baseline",
		Sentence: "workload {name} has no baseline yet",
		Next:     "take what was measured here as the first baseline, if this is the code to compare with"},
	{Key: "no-baseline-here",
		Sentence: "the GPU of this machine is {model}, the baseline was measured on {models}",
		Next:     "take what was measured here as the first baseline of this GPU, or run the check where the baseline was measured"},
	{Key: "no-gpu",
		Sentence: "this machine has no NVIDIA GPU: nothing was measured and nothing judged",
		Next:     "run the check where there is one"},
	{Key: "not-as-asked",
		Sentence: "{source} was measured with {profiler}, not with {asked}",
		Next:     "name recordings of that profiler, or do not ask for it"},
	{Key: "accept-unfailed",
		Sentence: "the report says {answer}: nothing in it has to be accepted",
		Next:     "record what is to be the baseline, or accept the report nevertheless"},
	{Key: "accept-dirty",
		Sentence: "what the report measured was not committed: changes to {commit} that nobody can review",
		Next:     "commit and check again, or accept the report nevertheless"},
	{Key: "accept-other-commit",
		Sentence: "the report is of commit {commit}, and {here} is checked out",
		Next:     "check again here, or accept the report nevertheless"},
	{Key: "changed-within-hour",
		Sentence: "the same GPU gave other times within {ago}: {changes}",
		Next:     "say why it is recorded, for those who review the baseline"},
	{Key: "other-baseline",
		Sentence: "this session does not fit the baseline: {reason}",
		Next:     "start the baseline anew"},
	{Key: "nothing-to-count",
		Sentence: "no kernel that matters is launched more than {skip} times a run, so ncu would profile none",
		Next:     "let the workload run longer, or profile earlier launches"},
	{Key: "no-machine",
		Sentence: "counters can be recorded only where the workload is run",
		Next:     "record finished pages of ncu by themselves"},
	{Key: "held-back",
		Sentence: "{what}",
		Next:     "let it cool down, see to its cooling and power supply, and calibrate again"},
	{Key: "not-kept-apart",
		Sentence: "{path} holds {sessions} sessions, of which {kept} can be kept apart",
		Next:     "scrub the recordings of each session by themselves"},
	{Key: "counters-vary-not",
		Sentence: "counters of ncu say nothing about how times vary",
		Next:     "calibrate with the workload, or with profiles of nsys"},
}

// Kind is the refusals of one kind, such as those of one reader.
type Kind struct {
	Name    string // as a heading
	Reasons model.Reasons
}

// Refusals is everything for which there is no verdict, by kind: what the key in reports stands for. One word in two kinds
// is the same cause in two kinds of files.
func Refusals() []Kind {
	return []Kind{
		{"What is handed in", profile.Reasons},
		{"Recordings of nsys", nsys.Reasons},
		{"Tables of nsys stats", nsysstats.Reasons},
		{"Archives of nsys-jax", nsysjax.Reasons},
		{"Traces and tables of torch.profiler", torch.Reasons},
		{"Pages and reports of ncu", ncu.Reasons},
		{"Measuring", run.Reasons},
		{"Cutting runs into samples", trace.Reasons},
		{"Comparisons", decide.Reasons},
		{"Commands", Reasons},
	}
}
