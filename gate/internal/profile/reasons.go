package profile

import "github.com/nsgate/nsgate/gate/internal/model"

// known are the kinds of files that are read, for messages.
const known = "nsgate reads SQLite exports (.sqlite) and reports (.nsys-rep) of nsys, CSV of nsys stats or ncu, .ncu-rep, " +
	"traces and key_averages tables of torch.profiler, and its own JSON reports"

// Reasons are all causes for which a path is not read as a recording; what is wrong within a file is in the lists of the
// readers.
var Reasons = model.Reasons{
	{Key: "unknown",
		Sentence: "{file} is no profile that nsgate knows",
		Next:     known},
	{Key: "no-file",
		Sentence: "{file} is not a file",
		Next:     "name a profile or a directory of profiles"},
	{Key: "no-profile-file",
		Sentence: "{file} is not a file",
		Next:     "remove it, or put the profile there"},
	{Key: "no-profile",
		Sentence: "{directory} holds no profile ({what})",
		Next:     "name a directory with profiles in it, a single one, or a baseline directory; " + known},
	{Key: "above-baseline",
		Sentence: "{directory} holds no profile ({what})",
		Next:     "name the baseline itself, the directory of one workload and GPU: {baseline}"},
	{Key: "same-file",
		Sentence: "{one} and {other} are the same recording, which is one run and not two",
		Next:     "remove the copy"},
	{Key: "ranks-ambiguous",
		Sentence: "{directory}: which files are ranks of one job is not clear: {grouping}",
		Next:     "name each by its job and rank, as run.000.rank0, run.000.rank1, run.001.rank0, or put each run's files in one"},
	{Key: "rank-incomplete",
		Sentence: "{file} says that rank {rank} {what}, so the job is no measurement",
		Next:     "measure the job again, and remove what this one left"},
	{Key: "mixed",
		Sentence: "{source} mixes what {profilers} measured",
		Next:     "judge the profiles of one profiler at a time"},
	{Key: "empty-report",
		Sentence: "{file}: the report holds no measurement",
		Next:     "save one of a check or compare that measured something"},
	{Key: "git-lfs",
		Sentence: "{file} is a Git LFS pointer, not the file itself",
		Next:     "fetch it with `git lfs pull`"},
	{Key: "compressed",
		Sentence: "{file} is compressed",
		Next:     "unpack it first; only traces of torch.profiler are read as they are"},
	{Key: "unfinished-capture",
		Sentence: "{file}: a raw capture, which nsys did not finish",
		Next:     "open it with the nsys of the same version, or record again"},
	{Key: "other-export",
		Sentence: "{file}: of the exports of nsys only SQLite is read",
		Next:     "write it with `nsys export --type sqlite`"},
}
