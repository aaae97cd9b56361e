package sample

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// job is one launch of the workload with all of its processes: a run. Its ranks are in the order of their names.
type job struct {
	ranks   []*cut
	numbers []int // of the ranks; none where there is one process
}

// together is the part of the shorter of two processes that both ran at once, from which on they are ranks of one job.
const together = 0.5

// rankName finds the rank in the name of a file that holds one rank of a job: run.000.rank1.sqlite, profile_rank_3.nsys-rep.
var rankName = regexp.MustCompile(`(?i)(?:^|[._-])rank[._-]?([0-9]+)(?:[._-]|$)`)

// jobs puts the ranks of one job together: the processes of one file that ran at the same time, each on a device of its own, and
// the files of one name but for the number of a rank. Processes that took turns are runs of their own.
func jobs(cuts []*cut) ([]job, error) {
	byFile, err := rankFiles(cuts)
	if err != nil || byFile != nil {
		return byFile, err
	}
	order := slices.Clone(cuts)
	slices.SortStableFunc(order, func(a, b *cut) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.seen.span.Start, b.seen.span.Start))
	})
	var out []job
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].Source == order[0].Source && besides(order[:n], order[n]) {
			n++
		}
		j := job{ranks: slices.Clone(order[:n])}
		slices.SortFunc(j.ranks, func(a, b *cut) int { return cmp.Compare(deviceOf(a), deviceOf(b)) })
		out, order = append(out, j.named()), order[n:]
	}
	return alike(out)
}

// besides reports whether a process is a further rank of a job.
func besides(ranks []*cut, c *cut) bool {
	for _, r := range ranks {
		a, b := r.seen.span, c.seen.span
		both := min(a.End, b.End) - max(a.Start, b.Start)
		if float64(both) < together*float64(min(a.End-a.Start, b.End-b.Start)) || deviceOf(r) == deviceOf(c) {
			return false
		}
	}
	return true
}

// deviceOf is the device of the first launch of a process.
func deviceOf(c *cut) int32 {
	if len(c.seen.devices) == 0 {
		return -1
	}
	return c.seen.devices[0]
}

// rankFiles puts files of a rank each together; nil where not every file is one of several ranks.
func rankFiles(cuts []*cut) ([]job, error) {
	type member struct {
		rank int
		cut  *cut
	}
	found := map[string][]member{}
	var names []string
	seen := map[int]bool{}
	for _, c := range cuts {
		base := filepath.Base(c.Source)
		m := rankName.FindStringSubmatchIndex(base)
		if m == nil {
			return nil, nil
		}
		rank, err := strconv.Atoi(base[m[2]:m[3]])
		if err != nil {
			return nil, nil
		}
		name := base[:m[2]] + "*" + base[m[3]:]
		if found[name] == nil {
			names = append(names, name)
		}
		found[name] = append(found[name], member{rank, c})
		seen[rank] = true
	}
	if len(seen) < 2 {
		return nil, nil
	}
	var out []job
	for _, name := range names {
		members := found[name]
		slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.rank, b.rank) })
		var j job
		for i, m := range members {
			if i > 0 && members[i-1].rank == m.rank {
				return nil, Reasons.Refuse("rank-twice", m.rank, members[i-1].cut.Source, m.cut.Source)
			}
			j.ranks = append(j.ranks, m.cut)
			j.numbers = append(j.numbers, m.rank)
		}
		for rank := range seen {
			if !slices.ContainsFunc(members, func(m member) bool { return m.rank == rank }) {
				return nil, Reasons.Refuse("rank-missing", rank, name)
			}
		}
		out = append(out, j)
	}
	return out, nil
}

// named numbers the ranks of a job from 0.
func (j job) named() job {
	for i := range j.ranks {
		if len(j.ranks) > 1 {
			j.numbers = append(j.numbers, i)
		}
	}
	return j
}

// alike refuses jobs of different numbers of ranks.
func alike(all []job) ([]job, error) {
	for _, j := range all {
		if len(j.ranks) != len(all[0].ranks) {
			return nil, Reasons.Refuse("ranks-differ", j.ranks[0].Source, len(j.ranks), len(all[0].ranks), all[0].ranks[0].Source)
		}
	}
	return all, nil
}

// first is the rank that stands for the job's environment.
func (j job) first() *cut { return j.ranks[0] }

// sources names the files of a job.
func (j job) sources() string {
	var names []string
	for _, c := range j.ranks {
		if !slices.Contains(names, c.Source) {
			names = append(names, c.Source)
		}
	}
	return strings.Join(names, ", ")
}
