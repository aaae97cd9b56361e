package profile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/reduce/rank"
)

// A rank's word on the size of its job is bounded, and every rank of several large jobs is looked up once.
func TestRankStatuses(t *testing.T) {
	job := func(name string, size, left int) (all rankStatuses) {
		for n := range left {
			all = append(all, rankStatus{fmt.Sprintf("%s.rank%d.json", name, n),
				rank.Status{Identity: rank.Identity{Rank: n, Size: size}, Done: true}})
		}
		return all
	}
	for what, tt := range map[string]struct {
		all  rankStatuses
		want string
	}{
		"complete": {slices.Concat(job("a", 3, 3), job("b", 20_000, 20_000)), ""},
		"missing":  {slices.Concat(job("a", 3, 3), job("b", 3, 2)), "b.rank0.json says that rank 2 of 3 left nothing"},
		"too large": {job("a", 2e9, 1),
			"rank 0 says that its job has 2000000000 processes (a.rank0.json), more than 1048576"},
	} {
		if err := tt.all.check(); (err == nil) != (tt.want == "") || err != nil &&
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

// Names by launchers and scripts, each with the second that its recording of ten seconds begins at.
func TestNameJobs(t *testing.T) {
	for _, tt := range []struct {
		what, files string
		alone       bool   // without collectives
		want        string // the jobs and their ranks, in order; "-" for none
		refused     string
	}{
		{what: "by the word", files: "run.000.rank0@0 run.000.rank1@0 run.001.rank0@20 run.001.rank1@20",
			want: "0.0 0.1 1.0 1.1"},
		{what: "by the word, without times", files: "a_rank0 a_rank1", want: "0.0 0.1"},
		{what: "one rank of each job", files: "run.000.rank0@0 run.001.rank0@20", want: "0.0 1.0"},
		{what: "directories", files: "rank_0/run.000@0 rank_1/run.000@0 rank_0/run.001@20 rank_1/run.001@20",
			want: "0.0 0.1 1.0 1.1"},
		{what: "Megatron, on hosts",
			files: "profile_4711_node0_rank0@0 profile_4711_node1_rank1@1 profile_4712_node0_rank0@30 " +
				"profile_4712_node1_rank1@31",
			want: "0.0 0.1 1.0 1.1"},
		{what: "with process ids", files: "p_rank0_12345@0 p_rank1_12346@0 p_rank0_12399@30 p_rank1_12400@30",
			want: "0.0 0.1 1.0 1.1"},
		{what: "with process ids, without times", files: "p_rank0_12345 p_rank1_12346",
			refused: "rank 0 in p_rank0_12345; rank 1 in p_rank1_12346"},
		{what: "a rank is missing", files: "run.000.rank0@0 run.000.rank1@0 run.001.rank1@20", want: "0.0 0.1 1.1"},
		{what: "parts of two jobs", files: "run.000.rank0@0 run.001.rank1@20", refused: "not clear"},
		{what: "the same rank twice at once", files: "p_rank0_12345@0 p_rank1_12346@0 p_rank0_12347@0",
			refused: "rank 0 in p_rank0_12345"},
		{what: "some without a rank", files: "run.rank0@0 run.rank1@0 other@0", refused: "no rank in other"},
		{what: "SLURM_PROCID and process id",
			files: "profile_0_4711@0 profile_1_4712@0 profile_0_4811@30 profile_1_4812@30", want: "0.0 0.1 1.0 1.1"},
		{what: "small process ids", files: "profile_0_41@0 profile_1_42@0 profile_0_43@30 profile_1_44@30",
			want: "0.0 0.1 1.0 1.1"},
		{what: "runs by number", files: "base.000@0 base.001@20 base.002@40", want: "-"},
		{what: "runs by number, without times", files: "base.000 base.001", want: "-"},
		{what: "nsys-jax", files: "report.0.sqlite@0 report.1.sqlite@2", want: "0.0 0.1"},
		{what: "at once, and they do not talk", files: "x.0@0 x.1@1", alone: true,
			refused: "rank 0 in x.0, rank 1 in x.1"},
		{what: "a number is missing at times", files: "x.0@0 x.1@0 x.1@20", refused: "not clear"},
		{what: "two programs", files: "a.0@0 a.1@0 b.0@0 b.1@0", want: "0.0 0.1 1.0 1.1"},
		{what: "names without numbers", files: "a@0 b@0", want: "-"},
	} {
		var files []file
		for _, word := range strings.Fields(tt.files) {
			name, at, timed := strings.Cut(word, "@")
			kernel := "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
			if tt.alone {
				kernel = "gemm"
			}
			x := model.Trace{
				Kernels:  []model.KernelInfo{{Subject: measure.Subject{Scope: measure.ScopeKernel, Name: kernel}}},
				Launches: []model.Launch{{Start: 0, End: 10e9}},
			}
			if timed {
				second, _ := time.ParseDuration(at + "s")
				x.Start = time.Unix(1_700_000_000, 0).Add(second)
			}
			files = append(files, newFile("dir", "dir/"+name, []model.Trace{x}))
		}
		err := nameJobs("dir", files)
		if tt.refused != "" {
			if model.KindOf(err) != "ranks-ambiguous" || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v", tt.what, err)
			}
			continue
		}
		var names, got []string
		for _, f := range files {
			x := f.traces[0]
			if x.Job == "" {
				got = append(got, "-")
				continue
			}
			if !slices.Contains(names, x.Job) {
				names = append(names, x.Job)
			}
			got = append(got, fmt.Sprintf("%d.%d", slices.Index(names, x.Job), x.Rank))
		}
		slices.Sort(got)
		if text := strings.Join(slices.Compact(got), " "); err != nil || text != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.what, text, err, tt.want)
		}
	}
}

// TestToldRanks groups traces by the rank and the size of the job that they name, whatever their files are called.
func TestToldRanks(t *testing.T) {
	for _, tt := range []struct{ what, files, want, refused string }{
		{"one job", "a_100.1@0/0 a_101.2@0/1", "0.0 0.1", ""},
		{"one job, without times", "a_100.1/0 a_101.2/1", "0.0 0.1", ""},
		{"two jobs", "a_100.1@0/0 a_101.2@1/1 a_200.3@30/0 a_201.4@31/1", "0.0 0.1 1.0 1.1", ""},
		{"numbers of runs in the names", "run.0@0/0 run.1@0/1", "0.0 0.1", ""},
		{"one rank of each job", "a_100.1@0/0 a_200.2@30/0", "-", ""},
		{"one rank of each job, at once", "a_100.1@0/0 a_200.2@1/0", "-", ""},
		{"two jobs by name, without times", "run.000.rank0/0 run.000.rank1/1 run.001.rank0/0 run.001.rank1/1",
			"0.0 0.1 1.0 1.1", ""},
		{"two of a rank at once", "a@0/0 b@0/1 c@0/0", "", "rank 0 in a"},
		{"two jobs without times", "a/0 b/1 c/0 d/1", "", "rank 0 in a"},
	} {
		var files []file
		for _, word := range strings.Fields(tt.files) {
			name, rank, _ := strings.Cut(word, "/")
			name, at, timed := strings.Cut(name, "@")
			x := model.Trace{World: 2, Launches: []model.Launch{{Start: 0, End: 10e9}}}
			fmt.Sscan(rank, &x.Rank)
			if timed {
				second, _ := time.ParseDuration(at + "s")
				x.Start = time.Unix(1_700_000_000, 0).Add(second)
			}
			files = append(files, newFile("dir", "dir/"+name, []model.Trace{x}))
		}
		err := nameJobs("dir", files)
		if tt.refused != "" || err != nil {
			if tt.refused == "" || err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v, want %q", tt.what, err, tt.refused)
			}
			continue
		}
		var jobs, got []string
		for _, f := range files {
			x := f.traces[0]
			if x.Job == "" {
				got = append(got, "-")
				continue
			}
			if !slices.Contains(jobs, x.Job) {
				jobs = append(jobs, x.Job)
			}
			got = append(got, fmt.Sprintf("%d.%d", slices.Index(jobs, x.Job), x.Rank))
		}
		slices.Sort(got)
		if text := strings.Join(slices.Compact(got), " "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, text, tt.want)
		}
	}
}
