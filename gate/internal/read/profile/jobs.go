package profile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/attribution"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
)

// file is a recording in a directory, and the processes in it.
type file struct {
	name   string // below the directory, with "/"
	traces []model.Trace
	start  time.Time // when the first process began, the zero time where that is not known
	lasts  time.Duration
	rank   int
}

// newFile is a file of a directory with the traces that were read from it.
func newFile(dir, name string, traces []model.Trace) file {
	f := file{name: name, traces: traces}
	if below, err := filepath.Rel(dir, name); err == nil {
		f.name = filepath.ToSlash(below)
	}
	for i := range traces {
		t := &traces[i]
		if begin, ok := t.Begin(); ok && (i == 0 || t.Start.Before(f.start)) {
			f.start, f.lasts = t.Start, time.Duration(t.End()-begin)
		}
	}
	return f
}

// rankWord finds the rank in a name that says it: run.000.rank1.sqlite, profile_4711_node0_rank_3.sqlite,
// rank_0/run.000.sqlite.
var rankWord = input.Pattern(`(?i)(?:^|[/._-])(?:rank|procid)[._-]?([0-9]+)(?:[/._-]|$)`)

// loneNumber finds a number that may be that of a rank or run, before a possible process id: profile_0_12345, run.0.
// The macros of profilers write such names (%q{SLURM_PROCID}_%p).
var loneNumber = input.Pattern(`[._-]([0-9]{1,6})(?:[._-][0-9]{2,8})?(?:\.[^0-9/][^/]*)?$`)

// perProcess matches parts of a name besides the rank that differ between processes of one job: host and process id.
var perProcess = input.Pattern(`(?i)[._-]node[._-]?[0-9]+|[._-]on[._-][^._/]+|[._-][0-9]{4,8}\b`)

// nameJobs groups the files of a directory to jobs by the ranks in their names, and stores job and rank with their
// traces. If names leave it open, the times of the recordings decide: ranks run at the same time, runs one after the
// other. Undecided groups are refused; files without ranks are left as they are.
func nameJobs(dir string, files []file) error {
	files = measure.Where(files, func(f file) bool { return len(f.traces) > 0 })
	byWord, some, all := numbered(files, rankWord())
	groups := told(files)
	switch {
	case groups != nil && unique(groups):
		name(groups)
		return nil
	case groups != nil && !all:
		return ambiguous(dir, groups)
	}
	if some {
		jobs := gather(byWord, func(a, b file) bool { return masked(a) == masked(b) }, masked)
		groups, known := together(byWord, masked)
		switch {
		case !all:
			return ambiguous(dir, jobs)
		case uniform(jobs):
			name(jobs)
		case known && ranked(groups) && uniform(groups):
			name(groups)
		case ranked(jobs) && unique(jobs) && !disjoint(jobs):
			name(jobs) // a rank is missing, which the package that divides them into steps reports
		default:
			return ambiguous(dir, jobs)
		}
		return nil
	}
	lone, _, all := numbered(files, loneNumber())
	whole := func(f file) bool { return len(f.traces) > 1 || f.traces[0].World > 0 }
	if !all || len(files) < 2 || slices.ContainsFunc(files, whole) {
		return nil // several processes in a file are a job of its own, and one that names its rank needs no number
	}
	groups, known := together(lone, func(f file) string {
		return f.name[:loneNumber().FindStringSubmatchIndex(f.name)[2]]
	})
	switch {
	case !known || !ranked(groups):
		return nil // one after the other
	case uniform(groups) && slices.ContainsFunc(files, communicates):
		name(groups)
		return nil
	default:
		return ambiguous(dir, groups)
	}
}

// told groups files whose recordings name their rank: those that were recorded at the same time are of one job. It is
// nil where a file names none, or all are of one rank, as where a program records only one of a job.
func told(files []file) []group {
	files = slices.Clone(files)
	for i := range files {
		if t := files[i].traces; len(t) != 1 || t[0].World < 2 {
			return nil
		}
		files[i].rank = files[i].traces[0].Rank
	}
	all := gather(files, func(_, _ file) bool { return true }, func(file) string { return "job" })
	if len(all) == 0 || all[0].files[0].rank == all[0].files[len(files)-1].rank {
		return nil
	}
	if unique(all) || slices.ContainsFunc(files, func(f file) bool { return f.start.IsZero() }) {
		return all
	}
	measure.Sort(files, func(a, b file) int { return a.start.Compare(b.start) })
	return gather(files, alongside, func(f file) string { return "job of " + f.start.Format(time.RFC3339Nano) })
}

// numbered fills in the ranks that a pattern finds in the names, -1 for none.
func numbered(files []file, pattern *regexp.Regexp) (out []file, some, all bool) {
	out, all = slices.Clone(files), len(files) > 0
	for i := range out {
		if m := pattern.FindStringSubmatch(out[i].name); m != nil {
			out[i].rank, _ = strconv.Atoi(m[1])
			some = true
		} else {
			out[i].rank, all = -1, false
		}
	}
	return out, some, all
}

// masked is a name without the number of its rank: that of a job.
func masked(f file) string {
	at := rankWord().FindStringSubmatchIndex(f.name)
	if at == nil {
		return f.name
	}
	return f.name[:at[2]] + "*" + f.name[at[3]:]
}

type group struct {
	name  string
	files []file
}

// gather puts each file into the first group whose first file it belongs to, or into a new one of that name. Each group
// is in the order of the ranks.
func gather(files []file, belongs func(first, f file) bool, name func(file) string) (out []group) {
	for _, f := range files {
		i := slices.IndexFunc(out, func(g group) bool { return belongs(g.files[0], f) })
		if i < 0 {
			i = len(out)
			out = append(out, group{name: name(f)})
		}
		out[i].files = append(out[i].files, f)
	}
	for _, g := range out {
		measure.Sort(g.files, func(a, b file) int { return cmp.Compare(a.rank, b.rank) })
	}
	return out
}

// together groups files that were recorded at the same time and whose names differ like those of one job, beside what
// jobOf leaves out. known is false where a file lacks its time.
func together(files []file, jobOf func(file) string) (out []group, known bool) {
	files = slices.Clone(files)
	measure.Sort(files, func(a, b file) int { return a.start.Compare(b.start) })
	stem := func(f file) string { return perProcess().ReplaceAllString(jobOf(f), "") }
	if slices.ContainsFunc(files, func(f file) bool { return f.start.IsZero() }) {
		return nil, false
	}
	beside := func(a, b file) bool { return stem(a) == stem(b) && alongside(a, b) }
	return gather(files, beside, func(f file) string { return stem(f) + " of " + f.start.Format(time.TimeOnly) }), true
}

// alongside reports whether two files were recorded at the same time, for at least half of the shorter one.
func alongside(a, b file) bool {
	start := slices.MaxFunc([]time.Time{a.start, b.start}, time.Time.Compare)
	end := slices.MinFunc([]time.Time{a.start.Add(a.lasts), b.start.Add(b.lasts)}, time.Time.Compare)
	both := end.Sub(start)
	return 2*both >= min(a.lasts, b.lasts) && both > 0
}

func ranked(groups []group) bool {
	return slices.ContainsFunc(groups, func(g group) bool { return len(g.files) > 1 })
}

func (g group) ranks() []int {
	return measure.Map(g.files, func(f file) int { return f.rank })
}

// unique reports whether every group has each of its ranks once.
func unique(groups []group) bool {
	return !slices.ContainsFunc(groups, func(g group) bool { return len(slices.Compact(g.ranks())) < len(g.files) })
}

// uniform reports whether every group has the same ranks, each once.
func uniform(groups []group) bool {
	return unique(groups) && !slices.ContainsFunc(groups,
		func(g group) bool { return !slices.Equal(g.ranks(), groups[0].ranks()) })
}

// disjoint reports whether no rank is in two groups, which then may be parts of one job.
func disjoint(groups []group) bool {
	all := slices.Concat(measure.Map(groups, group.ranks)...)
	slices.Sort(all)
	return len(slices.Compact(slices.Clone(all))) == len(all)
}

// communicates reports whether a process talks to others by a collective kernel.
func communicates(f file) bool {
	return slices.ContainsFunc(f.traces, func(t model.Trace) bool {
		return slices.ContainsFunc(t.Kernels,
			func(k model.KernelInfo) bool { return attribution.Communicates(k.Subject.Name) })
	})
}

// name stores job and rank with the traces of every file.
func name(groups []group) {
	for _, g := range groups {
		for _, f := range g.files {
			for i := range f.traces {
				f.traces[i].Job, f.traces[i].Rank = g.name, f.rank
			}
		}
	}
}

// ambiguous refuses a directory and shows how its files seem to belong together.
func ambiguous(dir string, groups []group) error {
	const most = 6
	var shown []string
	for _, g := range groups[:min(len(groups), most)] {
		var names []string
		for _, f := range g.files[:min(len(g.files), most)] {
			rank := measure.Either(f.rank >= 0, fmt.Sprintf("rank %d", f.rank), "no rank")
			names = append(names, rank+" in "+f.name)
		}
		if n := len(g.files) - most; n > 0 {
			names = append(names, fmt.Sprintf("%d more", n))
		}
		shown = append(shown, strings.Join(names, ", "))
	}
	if n := len(groups) - most; n > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", n))
	}
	return model.Refuse(model.RankTwice, "name each by its job and rank: run.000.rank0, run.000.rank1, run.001.rank0",
		"%s: which files are ranks of one job is not clear: %s", dir, strings.Join(shown, "; "))
}

// rankStatuses are the status files that nsgate rank writes next to the recordings of ranks.
type rankStatuses []rankStatus

type rankStatus struct {
	file string
	rank.Status
}

// take adds a file that a rank left; false for any other file.
func (x *rankStatuses) take(name string) bool {
	const most = 64 << 10
	if !ends(name, ".json") {
		return false
	}
	text, err := input.Read(name, most)
	l, ok := rank.ParseStatus(text)
	if ok = ok && err == nil; ok {
		*x = append(*x, rankStatus{name, l})
	}
	return ok
}

// job is the name of the files of its job.
func (l *rankStatus) job() string {
	return strings.TrimSuffix(filepath.Base(l.file), rank.File("", "", l.Rank, rank.StatusFile))
}

// check refuses jobs with a failed or missing rank.
func (x rankStatuses) check() error {
	type member struct {
		job  string
		rank int
	}
	left := map[member]bool{}
	for i := range x {
		left[member{x[i].job(), x[i].Rank}] = true
	}
	complete := map[string]int{} // size of each job whose ranks all left a file
	for i := range x {
		l, job := &x[i], x[i].job()
		if err := l.TooMany("(" + l.file + ")"); err != nil {
			return err
		}
		of, what := l.Rank, ""
		switch {
		case !l.Done:
			what = "did not come to an end"
		case l.Failure != "":
			what = "was not recorded (" + l.Failure + ")"
		case l.Told: // to end: a server knows no other end
		case l.Signal != "":
			what = "was ended by a signal (" + l.Signal + ")"
		case l.ExitCode != 0:
			what = fmt.Sprintf("exited with %d", l.ExitCode)
		}
		for n := complete[job]; n < l.Size && what == ""; n++ {
			if !left[member{job, n}] {
				of, what = n, fmt.Sprintf("of %d left nothing", l.Size)
			}
		}
		complete[job] = max(complete[job], l.Size)
		if what != "" {
			return model.Refuse(model.RankMissing, "measure the job again, and remove what this one left",
				"%s says that rank %d %s, so the job is no measurement", l.file, of, what)
		}
	}
	return nil
}
