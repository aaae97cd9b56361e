package nsysstats

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const headProj = "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n"

// launched is a trace of kernels at these times, 10 ns each.
func launched(times ...int) string {
	var b strings.Builder
	b.WriteString(head2025)
	for _, at := range times {
		fmt.Fprintf(&b, "%d,10,1,1,1,1,32,1,1,16,0.000,0.000,,,,,NVIDIA H200 (0),1,,7,k\n", at)
	}
	return b.String()
}

// placed tells the ranges of a trace, and the range of each launch.
func placed(run Run) string {
	var lines []string
	for _, r := range run.Trace.Ranges {
		lines = append(lines, fmt.Sprintf("%s %d-%d in %d", run.Trace.RangeNames[r.Name], r.Start, r.End, r.Parent))
	}
	for _, l := range run.Trace.Launches {
		lines = append(lines, fmt.Sprintf("%d: %d", l.Start, l.Range))
	}
	for _, c := range run.Trace.Copies {
		lines = append(lines, fmt.Sprintf("copy %d: %d", c.Start, c.Range))
	}
	return strings.Join(append(lines, run.Trace.Warnings...), "\n")
}

func TestRanges(t *testing.T) {
	for name, c := range map[string]struct{ trace, ranges, want string }{
		"nested, of two names": {launched(100, 150, 200, 300, 400),
			":step,100,110,1,9,PushPop,5,6,3,0,1,1,,:1\n:inner,150,10,3,2,PushPop,5,6,1,1,0,2,1,:1:2\n:step,300,10,20,9,PushPop,5,6,1,0,0,3,,:3\n", `step 100-210 in -1
inner 150-160 in 0
step 300-310 in -1
100: 0
150: 1
200: 0
300: 2
400: -1`},
		// The copy of the first step's results still runs when the second step begins: steps follow each other all the same.
		"steps that overlap on the GPU": {launched(100, 200) + "120,500,1,,,,,,,,,,1.000,2000.000,Device,Pinned,NVIDIA H200 (0),1,,9,[CUDA memcpy Device-to-Host]\n",
			":step,100,520,1,9,PushPop,5,6,2,0,1,1,,:1\n:copy,120,500,5,4,PushPop,5,6,1,1,0,2,1,:1:2\n:step,200,10,20,9,PushPop,5,6,1,0,0,3,,:3\n", `step 100-200 in -1
copy 120-620 in 0
step 200-210 in -1
100: 0
200: 2
copy 120: 1`},
		"ranges that need not nest": {launched(100, 200),
			":a,100,110,1,9,StartEnd,5,6,2,0,1,1,,:1\n:b,200,10,5,9,StartEnd,5,6,1,0,0,2,,:2\n", `a 100-210 in -1
b 200-210 in -1
100: 0
200: 1`},
		"two threads": {launched(100, 150, 200),
			":a,100,110,1,9,PushPop,5,6,3,0,0,1,,:1\n:b,150,20,1,9,PushPop,5,7,1,0,0,2,,:2\n", `a 100-210 in -1
b 150-170 in -1
100: 0
150: 1
200: 0`},
		"two processes, equal in time": {launched(100, 100),
			"dom:a,100,10,1,9,PushPop,5,6,1,0,0,1,,:1\ndom:a,100,10,1,9,PushPop,8,6,1,0,0,2,,:2\n", `dom:a 100-110 in -1
dom:a 100-110 in -1
100: 1
100: 1
b.csv:1: the ranges are of 2 processes, which count as one run`},
		"a parent that was filtered out, occurrences by number": {launched(100, 200),
			":epoch 1,100,10,1,9,PushPop,5,6,1,1,0,3,2,:2:3\n:epoch 2,200,10,20,9,PushPop,5,6,1,1,0,4,2,:2:4\n", `epoch # 100-110 in -1
epoch # 200-210 in -1
100: 0
200: 1`},
		"the row of 2023 for what is in no range": {launched(100),
			",100,10,,,,5,6,1,,0,,,\nstep,100,10,1,9,PushPop,5,6,1,0,0,1,,:1\n", `step 100-110 in -1
100: 0`},
		"None for what there is not": {launched(100),
			"None,100,10,None,None,None,5,6,1,None,0,None,None,None\nstep,100,10,1,9,PushPop,5,6,1,0,0,1,None,:1\n", `step 100-110 in -1
100: 0`},
		"children listed first": {launched(100),
			":inner,100,10,3,2,PushPop,5,6,1,1,0,2,1,:1:2\n:step,100,10,1,9,PushPop,5,6,1,0,1,1,,:1\n", `step 100-110 in -1
inner 100-110 in 0
100: 1`},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := read(t, c.trace, headProj+c.ranges)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, placed(run)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
