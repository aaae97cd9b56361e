package baseline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// taken is a session of some kernels on a host, hours after the first, each with its time in all three runs.
func taken(host string, hours float64, times map[measure.Subject]float64) model.Session {
	s := sample()[0]
	s.ID, s.GPUHash, s.Start, s.Series = "", host, start.Add(time.Duration(hours*float64(time.Hour))), nil
	for x, v := range times {
		s.Series = append(s.Series, model.Series{Subject: x, Metric: measure.Time, Values: model.Values{v, v, v}})
	}
	s.SortSeries()
	return s
}

// both is a session of two kernels.
func both(host string, hours, a, b float64) model.Session {
	return taken(host, hours, map[measure.Subject]float64{saxpy: a, fused: b})
}

// acceptOf is an entry that replaces some sessions for one kernel.
func acceptOf(hours float64, x measure.Subject, v float64, ids ...string) Entry {
	s := taken("aaaaaaaa", hours, map[measure.Subject]float64{x: v})
	s.Accepted = true
	return Entry{Session: s, Replaces: map[measure.Subject][]string{x: ids}}
}

// inEffect are the times of a kernel that are in effect, oldest first, and whether they are of a merge that was never
// measured.
func inEffect(t *testing.T, dir string, x measure.Subject) (times []float64, unmeasured bool) {
	t.Helper()
	sessions, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		if series, ok := s.Find(x, "time"); ok {
			times = append(times, series.Values[0])
			unmeasured = unmeasured || series.Unmeasured
		}
	}
	return times, unmeasured
}

// merge puts the files of two branches together.
func merge(t *testing.T, branches ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, b := range branches {
		for name, text := range contents(t, b) {
			write(t, dir, name, text)
		}
	}
	return dir
}

func branch(t *testing.T, from string) string { return merge(t, from) }

// Entries of two branches merge as a union of files, and an unmeasured merge is marked as such.
func TestMerge(t *testing.T) {
	base := t.TempDir()
	a := record(t, base, both("aaaaaaaa", 0, 100, 10))[0].ID
	one, two := branch(t, base), branch(t, base)
	for _, c := range []struct {
		what     string
		one, two []Entry
		saxpy    []float64
		apart    bool // saxpy
	}{
		{"accepts of different kernels", []Entry{acceptOf(24, saxpy, 105, a)}, []Entry{acceptOf(25, fused, 11, a)},
			[]float64{105}, false},
		{"accepts of one kernel", []Entry{acceptOf(24, saxpy, 105, a)}, []Entry{acceptOf(25, saxpy, 110, a)},
			[]float64{105, 110}, true},
		{"two records", []Entry{{Session: both("aaaaaaaa", 24, 101, 10)}},
			[]Entry{{Session: both("bbbbbbbb", 25, 102, 10)}}, []float64{100, 101, 102}, false},
		{"accept and record", []Entry{acceptOf(24, saxpy, 105, a)}, []Entry{{Session: both("aaaaaaaa", 25, 100.5, 10)}},
			[]float64{105, 100.5}, true},
		{"accept and gone", []Entry{acceptOf(24, saxpy, 105, a)}, []Entry{func() Entry {
			e := acceptOf(25, fused, 11, a)
			e.Replaces[saxpy] = []string{a}
			return e
		}()}, []float64{105}, true},
		{"start anew on both", []Entry{{Session: both("aaaaaaaa", 24, 105, 10), Supersedes: []string{a}}},
			[]Entry{{Session: both("aaaaaaaa", 26, 110, 10), Supersedes: []string{a}}}, []float64{105, 110}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			one, two := branch(t, one), branch(t, two)
			add(t, one, c.one...)
			add(t, two, c.two...)
			merged := merge(t, one, two)
			if got := len(contents(t, merged)); got != 3 {
				t.Errorf("%d files", got)
			}
			times, apart := inEffect(t, merged, saxpy)
			if diff := cmp.Diff(c.saxpy, times); diff != "" || apart != c.apart {
				t.Errorf("apart %v, -want +got:\n%s", apart, diff)
			}
			// The order of merging does not matter, and a record of the merge, which knows both, settles it.
			record(t, merged, both("aaaaaaaa", 48, 115, 11))
			if _, apart := inEffect(t, merge(t, two, one, merged), saxpy); c.apart != apart {
				t.Errorf("after a record beside: apart %v", apart)
			}
			in, _ := Read(merged)
			var ids []string
			for _, s := range in {
				ids = append(ids, s.ID)
			}
			add(t, merged, Entry{Session: both("aaaaaaaa", 49, 115.5, 11), Supersedes: ids})
			if times, apart := inEffect(t, merged, saxpy); apart || len(times) != 1 {
				t.Errorf("after a record instead: %v, apart %v", times, apart)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	for i := range 8 {
		record(t, dir, both("aaaaaaaa", 24*float64(i), 100+float64(i), 10))
	}
	times, _ := inEffect(t, dir, saxpy)
	if diff := cmp.Diff([]float64{103, 104, 105, 106, 107}, times); diff != "" {
		t.Errorf("of one host: -want +got:\n%s", diff)
	}
	for i := range 12 {
		record(t, dir, both(fmt.Sprintf("%08x", i), 24*float64(20+i), 200, 10))
	}
	if times, _ := inEffect(t, dir, saxpy); len(times) != keepAll || slices.Min(times) != 200 {
		t.Errorf("of all hosts: %v", times)
	}
	record(t, dir, both("cccccccc", 1, 300, 10)) // the one added is in effect, however old
	if times, _ := inEffect(t, dir, saxpy); len(times) != keepAll || times[0] != 300 {
		t.Errorf("an old one that is added last: %v", times)
	}
	if b, err := Open(dir, (*Baseline).ReadAll); err != nil || len(b.Entries) != 21 || len(b.SinceAnchor()) != 21 {
		t.Errorf("%v", err)
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	a := record(t, dir, both("aaaaaaaa", 0, 100, 10))[0].ID
	s := add(t, dir, acceptOf(24, saxpy, 105, a))[0].ID
	note := func(id string, hours int) string {
		at := model.Session{Environment: model.Environment{Start: start.AddDate(0, 0, hours)}, Reason: "busy machine"}
		return add(t, dir, Entry{Session: at, Removes: id})[0].ID
	}
	back := note(s, 2)
	if times, _ := inEffect(t, dir, saxpy); !slices.Equal(times, []float64{100}) {
		t.Errorf("%v", times)
	}
	note(back, 3)
	if times, _ := inEffect(t, dir, saxpy); !slices.Equal(times, []float64{105}) {
		t.Errorf("the removal taken back: %v", times)
	}
}

// A recording is written once, and concurrent writers all count.
func TestAdd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b")
	if _, err := Add(dir, func(*Baseline) ([]Entry, error) { return nil, os.ErrClosed }); err != os.ErrClosed {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is left behind: %v", err)
	}
	var wg sync.WaitGroup
	const writers = 4
	for i := range writers {
		wg.Go(func() { record(t, dir, both(fmt.Sprintf("%08x", i), 0, 100, 10)) })
	}
	wg.Wait()
	before := contents(t, dir)
	if in, err := Read(dir); err != nil || len(in) != writers {
		t.Fatalf("%d sessions of %d: %v", len(in), writers, err)
	}
	again := record(t, dir, both("00000001", 0, 100, 10))
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" || before[again[0].ID+suffix] == "" {
		t.Errorf("%s -before +after:\n%s", again[0].ID, diff)
	}
	write(t, dir, ".20261121T0151-1a2b3c4d.csv.1.tmp", "half a fi") // of a writer that was killed
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
	record(t, dir, both("00000009", 0, 100, 10))
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// Drift is measured from the state at the last anchor: the entries in effect then, for each kernel.
func TestTrail(t *testing.T) {
	dir := t.TempDir()
	a := record(t, dir, both("aaaaaaaa", 0, 100, 10))[0].ID
	b := add(t, dir, acceptOf(24, saxpy, 105, a))[0].ID
	trail := func(x measure.Subject) (times []float64) {
		b, err := Open(dir, (*Baseline).ReadAll)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.SinceAnchor() {
			if series, ok := s.Find(x, "time"); ok {
				times = append(times, series.Values[0])
			}
		}
		return times
	}
	if got := trail(saxpy); !slices.Equal(got, []float64{100, 105}) {
		t.Errorf("%v", got)
	}
	anchor := acceptOf(48, saxpy, 110, b)
	anchor.Anchor = "v1"
	c := add(t, dir, anchor)[0].ID
	add(t, dir, acceptOf(72, saxpy, 111, c))
	if got := trail(saxpy); !slices.Equal(got, []float64{110, 111}) {
		t.Errorf("after an anchor: %v", got)
	}
	if got := trail(fused); !slices.Equal(got, []float64{10}) {
		t.Errorf("of what the anchor does not hold: %v", got)
	}

	// A whole session as the anchor, and what was accepted after one, leave those behind that are in effect beside it.
	dir = t.TempDir()
	record(t, dir, both("aaaaaaaa", 0, 100, 10))
	whole := both("aaaaaaaa", 24, 103, 11)
	whole.Anchor = "v2"
	d := record(t, dir, whole)[0].ID
	if got := trail(saxpy); !slices.Equal(got, []float64{103}) {
		t.Errorf("after a whole session: %v", got)
	}
	anchor = acceptOf(48, saxpy, 110, a, d)
	anchor.Anchor = "v3"
	add(t, dir, anchor)
	if got, rest := trail(saxpy), trail(fused); !slices.Equal(got, []float64{110}) ||
		!slices.Equal(rest, []float64{11}) {
		t.Errorf("after an accept behind whole sessions: %v, of others %v", got, rest)
	}
}

// TestHeads wants of a baseline whose replaced sessions are unread the sessions of one that is read whole, after every
// file that is added: records of two hosts, accepted changes, an anchor, removals. Of those that are not in effect the
// metrics are read that drift is judged by.
func TestHeads(t *testing.T) {
	dir, left := t.TempDir(), 0
	for i := range 24 {
		hours, host := 24*float64(i), fmt.Sprintf("%08x", i%2)
		s := both(host, hours, 100+float64(i), 10)
		s.Series = append(s.Series, model.Series{Subject: saxpy, Metric: measure.Registers,
			Values: model.Values{32, 32, 32}})
		s.SortSeries()
		last := record(t, dir, s)[0]
		switch {
		case i == 9:
			anchor := both(host, hours+1, 200, 20)
			anchor.Anchor = "release"
			record(t, dir, anchor)
		case i%5 == 0:
			add(t, dir, acceptOf(hours+1, saxpy, 150, last.ID))
		case i%7 == 0:
			at := model.Environment{Start: last.Start.Add(time.Hour)}
			add(t, dir, Entry{Removes: last.ID, Session: model.Session{Environment: at, Reason: "r"}})
		}
		whole, err := Open(dir, (*Baseline).ReadAll)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := Read(dir)
		if diff := cmp.Diff(whole.InEffect(), kept, exact); diff != "" || err != nil {
			t.Fatalf("after %d: %v, -whole +in effect:\n%s", i, err, diff)
		}
		heads, err := Open(dir, (*Baseline).ReadSinceAnchor)
		want := [][]model.Session{whole.InEffect(), whole.SinceAnchor()}
		for i, s := range want[1] {
			at := slices.IndexFunc(heads.Entries, func(e Entry) bool { return e.ID == s.ID })
			if heads.Entries[at].lacks == details {
				want[1][i].Series = slices.DeleteFunc(slices.Clone(s.Series),
					func(x model.Series) bool { return x.Metric == measure.Registers })
				left++
			}
		}
		got := [][]model.Session{heads.InEffect(), heads.SinceAnchor()}
		if diff := cmp.Diff(want, got, exact); diff != "" || err != nil {
			t.Fatalf("after %d: %v, -whole +since the anchor:\n%s", i, err, diff)
		}
		unread := slices.ContainsFunc(heads.Entries, func(e Entry) bool { return e.lacks == bodies })
		if i > 20 && !unread {
			t.Errorf("after %d: the sessions before the anchor were read", i)
		}
		skimmed, err := Open(dir, (*Baseline).ReadKept)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := whole.Kernels()
		if got, err := skimmed.Kernels(); err != nil || !slices.Equal(got, counts) {
			t.Errorf("after %d: %v kernels, %v; want %v", i, got, err, counts)
		}
		for at, want := range whole.Standings() {
			got := skimmed.Standings()[at]
			if got.Of > 0 && want.Of > 0 {
				got.Of = want.Of
			}
			if got != want {
				t.Errorf("after %d: %+v, %v; want %+v", i, got, err, want)
			}
		}
	}
	if left == 0 {
		t.Error("no session was read for drift alone")
	}
}

// BenchmarkOpen reads a baseline of 100 sessions of a program with 57 kernels.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for day := range 100 {
		s := sample()[0]
		s.Start, s.Series, s.GPUHash = start.AddDate(0, 0, day), nil, fmt.Sprintf("%08x", day%4)
		for k := range 57 {
			x := saxpy
			x.Name = fmt.Sprintf("void kernel<%d, %s>()", k, strings.Repeat("at::Functor, ", 10))
			for _, m := range measure.Metrics[:8] {
				v := float64(1000*k + day)
				s.Series = append(s.Series, model.Series{Subject: x, Metric: m, Values: model.Values{v, v + 1.0/3, v},
					Role: "step"})
			}
		}
		e := Entry{Session: s}
		name, text, err := encodeEntry(&e)
		if err != nil {
			b.Fatal(err)
		}
		write(b, dir, name, string(text))
	}
	b.ReportAllocs()
	for b.Loop() {
		all, err := Open(dir, (*Baseline).ReadAll)
		if err != nil {
			b.Fatal(err)
		}
		all.InEffect()
	}
}

// TestContested wants of entries in random relations those that a comparison of all pairs finds.
func TestContested(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 2 + random.IntN(140)
		b := &Baseline{}
		for i := range n {
			e := Entry{Session: model.Session{ID: strconv.Itoa(i)}}
			for range random.IntN(3) {
				j := strconv.Itoa(random.IntN(i + 1))
				if random.IntN(2) == 0 {
					e.Beside = append(e.Beside, j)
				} else {
					e.Supersedes = append(e.Supersedes, j)
				}
			}
			b.Entries = append(b.Entries, e)
		}
		s := b.state()
		changes := func(i int) bool { return len(b.Entries[i].Supersedes) > 0 }
		apart := func(i, j int) bool { return i != j && s.knows[i].Bit(j)+s.knows[j].Bit(i) == 0 }
		of := random.Perm(n)[:1+random.IntN(n)]
		var want []int
		for _, i := range of {
			if slices.ContainsFunc(of, func(j int) bool { return apart(i, j) && (changes(i) || changes(j)) }) {
				want = append(want, i)
			}
		}
		slices.Sort(want)
		if got := s.contested(saxpy, of); !slices.Equal(got, want) {
			t.Fatalf("%d entries: %v, want %v", n, got, want)
		}
	}
}

// TestFirstRows wants the titles and one row of each kernel, whatever its subject needs quotes for.
func TestFirstRows(t *testing.T) {
	text := "scope,subject\nsession,,what\nkernel,a#1,name,\nkernel,a#1,grid\nkernel,a#12,name\n" +
		"kernel,\"b,\"\"#1\",name\nkernel,\"b,\"\"#1\",time\nkernel,\"b,\"\"#2\",name\nkernel\nkernel,"
	want := "scope,subject\nkernel,a#1,name,\nkernel,a#12,name\n" +
		"kernel,\"b,\"\"#1\",name\nkernel,\"b,\"\"#2\",name\nkernel,"
	if got := string(firstRows([]byte(text))); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
