package decide_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/read/profile"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// This file writes the oracle: the verdicts and findings of about 27,000 comparisons as a table. A change of the
// decision shows as a difference of two tables.
//
//	NSGATE_ORACLE=before.tsv NSGATE_RECORDINGS=/tmp/h200 go test -count=1 -run='^TestOracle$' ./gate/internal/judge/decide
//
// NSGATE_ORACLE_REPORTS names a directory for the JSON of one report of thirteen; .ci/texts renders them.
//
// Columns of a gate: "gate", ID, verdict, undecided, reason key, leading finding, counts, keys of doubts, relation
// of the sides.
// Columns of a finding: "finding", ID, subject, metric, outcome, gates, undecided or doubted, change, low, high,
// MDE, reason key, keys of the other remarks.
// An ID is kind|truth|detail|draw. The truth is slower, small (slower by less than the limit), faster, unchanged,
// both (both builds are changed), traded or other.

// The truths of gates.
const (
	isUnchanged, isSlower, isFaster    = "unchanged", "slower", "faster"
	isSmall, isTraded, isBoth, isOther = "small", "traded", "both", "other"
)

// oracle collects the lines of gates. It is safe for concurrent use.
type oracle struct {
	mu    sync.Mutex
	gates map[string][]string // the lines by ID
	again []string            // duplicate IDs
	// read takes gates in place of the table, nil for the table.
	read func(id string, judged func() *result.Report)
}

// part is the gates of one kind: a random generator of their own and the oracle.
type part struct {
	*oracle
	*rand.Rand
	tb   testing.TB
	kind string
}

// at is the truth of a slower program whose change is known, at a limit.
func at(truth string, change, limit float64) string {
	if truth == isSlower && change <= limit {
		return isSmall
	}
	return truth
}

// oracleLimits are the limits of kernel times.
var oracleLimits = []float64{0.005, 0.01, 0.03}

func (o *oracle) put(id string, lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gates[id] != nil {
		o.again = append(o.again, id)
	}
	o.gates[id] = lines
}

// judge compares two sides and keeps the result.
func (p part) judge(truth, detail string, draw int, base, head []model.Session, policy *thresholds.Policy) {
	p.input(truth, detail, draw, decide.Input{Baseline: base, Head: head, Policy: policy.For("")})
}

func (p part) input(truth, detail string, draw int, in decide.Input) {
	id := fmt.Sprintf("%s|%s|%s|%03d", p.kind, truth, detail, draw)
	judged := func() *result.Report { return insight.Judge(in).Shown(nil) }
	if p.read != nil {
		p.read(id, judged)
		return
	}
	r := judged()
	p.put(id, oracleLines(id, r))
	p.save(id, r)
}

// save writes one report of thirteen into the directory that NSGATE_ORACLE_REPORTS names, for the oracle of texts.
func (p part) save(id string, r *result.Report) {
	dir := os.Getenv("NSGATE_ORACLE_REPORTS")
	sum := sha256.Sum256([]byte(id))
	if dir == "" || binary.BigEndian.Uint32(sum[:])%13 != 0 {
		return
	}
	var text bytes.Buffer
	err := report.Render("json", &text, r, report.Options{})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x.json", sum[:8])), text.Bytes(), 0o600)
	}
	if err != nil {
		p.tb.Error(err)
	}
}

// three prints three significant digits, "-" for a number that is not known.
func three(x result.Number) string {
	if !x.Known() {
		return "-"
	}
	return fmt.Sprintf("%.3g", float64(x))
}

func keysOf(lists ...[]result.Remark) string {
	var keys []string
	for _, x := range slices.Concat(lists...) {
		keys = append(keys, x.Key)
	}
	slices.Sort(keys)
	return cmp.Or(strings.Join(slices.Compact(keys), "+"), "-")
}

// oracleLines are the line of a gate and those of its findings, sorted.
func oracleLines(id string, r *result.Report) []string {
	row := func(fields ...any) string {
		text := make([]string, len(fields))
		for i, x := range fields {
			text[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(fmt.Sprint(x))
		}
		return strings.Join(text, "\t")
	}
	leading := "-"
	if len(r.Findings) > 0 {
		f := &r.Findings[0]
		leading = cmp.Or(f.Label, f.Kernel) + " " + f.Metric
	}
	of := map[string]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f.Increased():
			of["increased"]++
		case f.Fails():
			of["fails"]++
		default:
			of[string(f.Outcome)]++
		}
	}
	counts := fmt.Sprintf("fails=%d faster=%d kept=%d undecided=%d new=%d gone=%d slower=%d increased=%d", of["fails"],
		of["faster"], of["within limit"]+of["below floor"], of["undecided"], of["new"], of["gone"], of["slower"],
		of["increased"])
	relation := fmt.Sprintf("paired=%v batches=%v one-gpu=%v boards=%v", r.Paired, r.Batches, r.OneGPU, r.Boards)
	lines := []string{row("gate", id, r.Verdict, r.Undecided, r.ReasonKey, leading, counts, keysOf(r.Doubts), relation)}
	var findings []string
	for i := range r.Findings {
		f := &r.Findings[i]
		state := "-"
		switch {
		case f.Doubted:
			state = "doubted"
		case f.Undecided:
			state = "undecided"
		}
		s := f.Subject()
		findings = append(findings, row("finding", id, string(f.Scope)+" "+s.ID(), f.Metric, f.Outcome, f.Gates, state,
			three(f.Change), three(f.Low), three(f.High), three(f.MDE), f.ReasonKey, keysOf(f.Also, f.Facts)))
	}
	slices.Sort(findings)
	return append(lines, findings...)
}

// TestOracle writes the table.
func TestOracle(t *testing.T) {
	out := os.Getenv("NSGATE_ORACLE")
	if out == "" {
		t.Skip("NSGATE_ORACLE names no output file")
	}
	o := &oracle{gates: map[string][]string{}}
	o.run(t, oracleParts())
	if len(o.again) > 0 {
		t.Fatalf("%d IDs are listed twice, first %q", len(o.again), o.again[0])
	}
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, id := range slices.Sorted(maps.Keys(o.gates)) {
		for _, line := range o.gates[id] {
			fmt.Fprintln(w, line)
		}
	}
	if err := cmp.Or(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d gates", len(o.gates))
}

// oraclePart is the gates of one kind.
type oraclePart struct {
	kind string
	run  func(part)
}

func oracleParts() []oraclePart {
	return []oraclePart{
		{"recording", part.recordingsOfTransformer}, {"recording", part.recordingsOfKernels},
		{"recording", part.recordingsOfOthers},
		{"pair", part.pairsOfTransformer}, {"edit", part.editedTransformer}, {"within", part.withinTransformer},
		{"hosts", part.recordedHosts}, {"looks", part.looks}, {"single", part.singleRuns},
		{"pair", part.pairsOfKernels}, {"pair", part.pairsOfJobs}, {"edit", part.editedKernels},
		{"within", part.withinKernels},
		{"hosts", part.madeHosts}, {"attack", part.attacks}, {"steps", part.steps}, {"steps", part.stepRelations},
		{"batches", part.batches},
		{"output", part.outputs}, {"strict", part.strict}, {"counts", part.counts}, {"ncu", part.counters},
	}
}

// run judges the gates of all parts.
func (o *oracle) run(t *testing.T, parts []oraclePart) {
	next := make(chan int, len(parts))
	for i := range parts {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				begin := time.Now()
				r := rand.New(rand.NewPCG(uint64(i), 101))
				parts[i].run(part{o, r, t, parts[i].kind})
				t.Logf("part %d, %s: %.1f s", i, parts[i].kind, time.Since(begin).Seconds())
			}
		})
	}
	workers.Wait()
}

// build is a stored session of a build of a program: its name, and whether the build is changed.
type build struct {
	host
	change string // a truth: isUnchanged for the base build
}

// sessionsBelow reads the sessions of folders of testdata. A folder of several gives the first, the middle and the
// last.
func (p part) sessionsBelow(folders map[string]string) (out []build) {
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		dirs, err := filepath.Glob(filepath.Join("../../../../testdata", folder, "*"))
		if err != nil || len(dirs) != 1 {
			p.tb.Error(folder, ": ", len(dirs), " baselines ", err)
			return nil
		}
		sessions, err := baseline.Read(dirs[0])
		if err != nil {
			p.tb.Error(err)
			return nil
		}
		slices.SortFunc(sessions, func(a, b model.Session) int { return a.Start.Compare(b.Start) })
		name := strings.Replace(folder, "/sessions/", "-", 1)
		if n := len(sessions); n > 1 {
			for _, i := range []int{0, n / 2, n - 1} {
				out = append(out, build{host{name: fmt.Sprint(name, "-", i), session: sessions[i]}, folders[folder]})
			}
			continue
		}
		out = append(out, build{host{name: name, session: sessions[0]}, folders[folder]})
	}
	return out
}

func (p part) kernels() []build {
	all := map[string]string{"h200/sessions/idle-200-a": isSlower, "h200/sessions/saxpy-102-a": isSlower,
		"h200/sessions/saxpy-105-a": isSlower, "h200/sessions/softmax-103-a": isSlower,
		"h200/sessions/kernels-batches": isUnchanged}
	for _, h := range []string{"a", "b", "e", "f", "g"} {
		all["h200/sessions/kernels-"+h] = isUnchanged
	}
	for _, h := range []string{"a-0", "a-1", "a-2", "a-3", "b-0", "b-1", "b-2", "b-3", "c-0"} {
		all["h100/sessions/kernels-"+h] = isUnchanged
	}
	return p.sessionsBelow(all)
}

func (p part) transformers() []build {
	all := map[string]string{"h200/sessions/item-sync-b": isOther, "h200/sessions/unfused-norm-b": isSlower}
	for _, h := range []string{"b", "e", "f", "g"} {
		all["h200/sessions/transformer-"+h] = isUnchanged
	}
	for _, h := range []string{"a-0", "a-1", "b-0", "b-1", "c-0"} {
		all["h100/sessions/transformer-"+h] = isUnchanged
	}
	return p.sessionsBelow(all)
}

// truthOf is the truth of a comparison of two builds.
func truthOf(base, head string) string {
	switch {
	case base == isUnchanged:
		return head
	case head != isUnchanged:
		return isBoth
	case base == isSlower:
		return isFaster
	}
	return base
}

// knownChange is the largest change of a kernel in a recorded build, by its name; it is infinite for builds whose
// step is longer as well.
func knownChange(name string) float64 {
	switch {
	case strings.Contains(name, "saxpy-102"), strings.Contains(name, "saxpy_1.02"):
		return 0.02
	}
	return math.Inf(1)
}

// sides draws disjoint sides of so many profiled runs of a recorded session, with a part of its unprofiled runs
// each. A session with too few runs gives fewer a side.
func (p part) sides(h *host, sides, runs int) (out []draw) {
	profiled := h.session.Profiled()
	order, others := p.Perm(profiled), p.Perm(len(h.session.Runs)-profiled)
	runs = min(runs, profiled/sides)
	beside := len(others) / sides
	for i := range sides {
		all := slices.Clone(order[i*runs : (i+1)*runs])
		for _, k := range others[i*beside : (i+1)*beside] {
			all = append(all, profiled+k)
		}
		out = append(out, draw{host: h, runs: all})
	}
	return out
}

// some draws so many runs of a recorded session, all where it has fewer.
func (p part) some(h *host, runs int) draw { return p.sides(h, 1, runs)[0] }

// pairs compares all ordered pairs of sessions; those of different GPU models once.
func (p part) pairs(all []build, limits []float64, draws int) {
	for i := range all {
		for j := range all {
			b, h := &all[i], &all[j]
			if i == j {
				continue
			}
			truth, name := truthOf(b.change, h.change), b.name+" → "+h.name
			if b.session.GPU != h.session.GPU {
				p.judge(isOther, name, 0, []model.Session{p.some(&b.host, 5).session()},
					[]model.Session{p.some(&h.host, 5).session()}, thresholds.Default())
				continue
			}
			for _, runs := range []int{2, 3, 5} {
				for n := range draws {
					base, head := p.some(&b.host, runs).session(), p.some(&h.host, runs).session()
					for _, limit := range limits {
						p.judge(at(truth, knownChange(h.name), limit),
							fmt.Sprintf("%s, %d runs, %g %%", name, runs, 100*limit), n,
							[]model.Session{base}, []model.Session{head}, limited(limit))
					}
				}
			}
		}
	}
}

func (p part) pairsOfKernels()     { p.pairs(p.kernels(), oracleLimits, 4) }
func (p part) pairsOfTransformer() { p.pairs(p.transformers(), oracleLimits, 2) }

func (p part) pairsOfJobs() {
	p.pairs(p.sessionsBelow(map[string]string{"h200/sessions/ddp": isUnchanged, "h200/sessions/ddp-slow1": isSlower}),
		oracleLimits, 3)
}

// moved is a session at another time.
func moved(s model.Session, by time.Duration) model.Session {
	s.Start = s.Start.Add(by)
	s.Runs = slices.Clone(s.Runs)
	for i := range s.Runs {
		if !s.Runs[i].Start.IsZero() {
			s.Runs[i].Start = s.Runs[i].Start.Add(by)
		}
	}
	return s
}

// within compares runs of one session: interleaved, back to back, a day apart, and with two earlier sessions of the
// GPU as the baseline.
func (p part) within(all []build, draws int) {
	const day = 24 * time.Hour
	for i := range all {
		h := &all[i].host
		for _, runs := range []int{2, 3, 5} {
			for n := range draws {
				two := p.sides(h, 2, runs)
				base, head := two[0].session(), two[1].session()
				k, third := base.Profiled(), base
				if h.session.Profiled() >= 3*k {
					three := p.sides(h, 3, k)
					base, third, head = three[0].session(), three[1].session(), three[2].session()
				}
				for _, x := range []struct {
					name string
					base []model.Session
					by   time.Duration
				}{
					{"interleaved", []model.Session{base}, 0},
					{"back to back", []model.Session{base}, 10 * time.Minute},
					{"a day apart", []model.Session{base}, day},
					{"two sessions of the GPU", []model.Session{base, moved(third, day)}, 2 * day},
				} {
					for _, limit := range oracleLimits {
						p.judge(isUnchanged, fmt.Sprintf("%s, %s, %d runs, %g %%", h.name, x.name, k, 100*limit),
							100*runs+n, x.base, []model.Session{moved(head, x.by)}, limited(limit))
					}
				}
			}
		}
	}
}

func (p part) withinKernels()     { p.within(p.kernels(), 4) }
func (p part) withinTransformer() { p.within(p.transformers(), 2) }

// edit is one change to a copy of a session.
type edit struct {
	name, truth string
	change      float64 // of the kernel, 0 for an edit of other parts
	apply       func(r *rand.Rand, s model.Session) model.Session
}

// cloned is a session with series of its own.
func cloned(s model.Session) model.Session {
	s.Series = slices.Clone(s.Series)
	for i := range s.Series {
		s.Series[i].Values = slices.Clone(s.Series[i].Values)
	}
	return s
}

// scaled multiplies the series that a condition holds for.
func scaled(s model.Session, by float64, holds func(*model.Series) bool) model.Session {
	s = cloned(s)
	for i := range s.Series {
		if x := &s.Series[i]; holds(x) {
			for run := range x.Values {
				x.Values[run] *= by
			}
		}
	}
	return s
}

func isStepTime(x *model.Series) bool {
	return x.Subject == measure.Workload && (x.Metric == measure.StepTime || x.Metric == measure.MeanStep)
}

// longer adds to the step what is owned by the series that a condition holds for and grows by a part.
func longer(s model.Session, by float64, holds func(*model.Series) bool) model.Session {
	extra := make([]float64, len(s.Runs))
	for i := range s.Series {
		if x := &s.Series[i]; x.Metric == measure.Owned && holds(x) {
			for run, v := range x.Values {
				if !math.IsNaN(v) {
					extra[run] += by * v
				}
			}
		}
	}
	s = scaled(s, 1+by, holds)
	for i := range s.Series {
		if x := &s.Series[i]; isStepTime(x) {
			for run := range x.Values {
				x.Values[run] += extra[run]
			}
		}
	}
	return s
}

func isIdle(x *model.Series) bool { return x.Subject.Scope == measure.ScopeIdle }

func isCopy(x *model.Series) bool {
	return x.Subject.Scope == measure.ScopeWorkload && strings.HasPrefix(x.Subject.Name, "memcpy")
}

// edits are changes of known truth.
func edits() []edit {
	slow := func(by float64) func(*rand.Rand, model.Session) model.Session {
		return func(r *rand.Rand, s model.Session) model.Session { s, _ = withSlower(r, s, by); return s }
	}
	return []edit{
		{"unedited", isUnchanged, 0, func(_ *rand.Rand, s model.Session) model.Session { return s }},
		{"kernel ×1.02", isSlower, 0.02, slow(0.02)}, {"kernel ×1.05", isSlower, 0.05, slow(0.05)},
		{"kernel ×1.10", isSlower, 0.1, slow(0.1)},
		{"kernel ×2", isSlower, 1, slow(1)}, {"kernel ×0.9", isFaster, 0, slow(-0.1)},
		{"step +6 %", isSlower, 0, func(_ *rand.Rand, s model.Session) model.Session {
			x, _ := s.Find(measure.Workload, measure.MeanStep.Name)
			extra := slices.Clone(x.Values)
			s = scaled(s, 1.06, isStepTime)
			at := slices.IndexFunc(s.Series, func(x model.Series) bool {
				return isIdle(&x) && x.Metric == measure.Owned
			})
			for run := range extra {
				if at >= 0 {
					s.Series[at].Values[run] += 0.06 * extra[run]
				}
			}
			return s
		}},
		{"idle +20 %", isSlower, 0, func(_ *rand.Rand, s model.Session) model.Session {
			return longer(s, 0.2, isIdle)
		}},
		{"copies ×2", isSlower, 0, func(_ *rand.Rand, s model.Session) model.Session { return longer(s, 1, isCopy) }},
		{"kernel ×1.10, step −10 %", isTraded, 0, func(r *rand.Rand, s model.Session) model.Session {
			s, _ = withSlower(r, s, 0.1)
			return scaled(s, 0.9, isStepTime)
		}},
		{"all kernels ×1.05", isSlower, 0, func(_ *rand.Rand, s model.Session) model.Session {
			return longer(s, 0.05, func(x *model.Series) bool {
				return x.Metric.Unit == "ns" && (x.Subject.Scope == measure.ScopeKernel || x.Metric == measure.GPUTime)
			})
		}},
		{"kernel fused into another", isTraded, 0, func(r *rand.Rand, s model.Session) model.Session {
			kernels := heavy(s)
			a, b := kernels[0], kernels[1]
			times, _ := s.Find(a, measure.Total.Name)
			gone, _ := s.Find(b, measure.Total.Name)
			part := sum(gone.Values) / sum(times.Values)
			s = scaled(s, 1+part, func(x *model.Series) bool { return x.Subject == a && x.Metric.Unit == "ns" })
			s.Series = slices.DeleteFunc(s.Series, func(x model.Series) bool { return x.Subject == b })
			return s
		}},
	}
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// changeOf is the known change of an edited session: that of the kernel, or of the step where it is below the limit
// of steps.
func (e edit) changeOf(before, after model.Session) float64 {
	if e.change > 0 {
		return e.change
	}
	b, _ := before.Find(measure.Workload, measure.StepTime.Name)
	a, _ := after.Find(measure.Workload, measure.StepTime.Name)
	if strings.HasPrefix(e.name, "idle") && sum(a.Values) < (1+thresholds.Default().StepThreshold)*sum(b.Values) {
		return 0
	}
	return math.Inf(1)
}

// edited compares each edit with other runs of its session, and with runs of another host.
func (p part) edited(all []build, same [][2]string, unknown [][2]string, runs []int, limits []float64, draws int) {
	named := func(name string) *host {
		i := slices.IndexFunc(all, func(x build) bool { return x.name == name })
		if i < 0 {
			p.tb.Errorf("no session %s", name)
			return &all[0].host
		}
		return &all[i].host
	}
	type relation struct {
		name       string
		base, head string
		by         time.Duration
		board      string
		boards     bool // known, and the same
	}
	var relations []relation
	for _, x := range same {
		relations = append(relations, relation{"interleaved", x[0], x[0], 0, "", false},
			relation{"back to back", x[0], x[0], 10 * time.Minute, "", false},
			relation{"other day", x[0], x[0], 24 * time.Hour, "", false},
			relation{"other host, same board", x[0], x[1], 0, fastBoard, true})
	}
	for _, x := range unknown {
		relations = append(relations, relation{"other host, unknown board", x[0], x[1], 0, "", true})
	}
	for _, x := range relations {
		b, h := named(x.base), named(x.head)
		for _, n := range runs {
			for k := range draws {
				base, head := p.some(b, n), p.some(h, n)
				if b == h {
					two := p.sides(h, 2, n)
					base, head = two[0], two[1]
				}
				one, other := base.session(), moved(head.session(), x.by)
				if x.boards {
					one, other = boarded(one, x.board), boarded(other, x.board)
				}
				for _, e := range edits() {
					changed := e.apply(p.Rand, other)
					for _, limit := range limits {
						p.judge(at(e.truth, e.changeOf(other, changed), limit),
							fmt.Sprintf("%s, %s, %s → %s, %d runs, %g %%", e.name, x.name, x.base, x.head, n,
								100*limit), k,
							[]model.Session{one}, []model.Session{changed}, limited(limit))
					}
				}
			}
		}
	}
}

func (p part) editedKernels() {
	p.edited(p.kernels(), [][2]string{{"h200-kernels-a", "h200-kernels-b"}, {"h200-kernels-b", "h200-kernels-f"},
		{"h200-kernels-e", "h200-kernels-g"}},
		[][2]string{{"h200-kernels-a", "h200-kernels-e"}, {"h200-kernels-g", "h200-kernels-b"},
			{"h200-kernels-f", "h200-kernels-a"}}, []int{3, 5}, oracleLimits, 3)
}

func (p part) editedTransformer() {
	p.edited(p.transformers(), [][2]string{{"h200-transformer-b", "h200-transformer-f"}},
		[][2]string{{"h200-transformer-b", "h200-transformer-e"}, {"h200-transformer-g", "h200-transformer-b"}},
		[]int{3, 5}, oracleLimits[1:], 2)
}

// hosts compares hosts of one generator, unchanged and with one kernel slower.
func (p part) hosts(name string, most, gates int, hosts hostGate) {
	for bases := 1; bases <= most; bases++ {
		for n := range gates {
			base, head := hosts(p.Rand, bases)
			for _, limit := range []float64{0.01, 0.03} {
				detail := func(what string) string {
					return fmt.Sprintf("%s, %d bases, %s, %g %%", name, bases, what, 100*limit)
				}
				p.judge(isUnchanged, detail("as it is"), n, base, []model.Session{head}, limited(limit))
				effect := math.Max(0.02, 2*limit-0.01)
				slow, _ := withSlower(p.Rand, head, effect)
				p.judge(isSlower, detail(fmt.Sprintf("a kernel +%g %%", 100*effect)), n, base, []model.Session{slow},
					limited(limit))
			}
		}
	}
}

func (p part) madeHosts() {
	kernels := func(names ...string) []host { return loadHosts(p.tb, "kernels", names...) }
	p.hosts("kernels recorded, one board", 2, 15, betweenHosts(kernels("a", "b", "f"), fastBoard))
	p.hosts("kernels recorded, unknown", 3, 15, betweenHosts(kernels("a", "b", "e", "f", "g"), ""))
	p.hosts("kernels on 11 hosts, one board", 5, 15, classed(p.tb, kernels("a")[0], false, fastBoard))
	p.hosts("kernels on 11 hosts, unknown", 3, 15, classed(p.tb, kernels("a")[0], false, ""))
	p.hosts("PyTorch made up, one board", 5, 15, pytorch(0, true))
	p.hosts("PyTorch counted, one board", 3, 15, pytorch(0, true).counted())
	p.hosts("PyTorch made up, boards known", 3, 15, pytorch(0.4, true))
	p.hosts("PyTorch made up, unknown", 3, 15, pytorch(0.4, false))
}

func (p part) recordedHosts() {
	transformer := func(names ...string) []host { return loadHosts(p.tb, "transformer", names...) }
	p.hosts("PyTorch recorded, b f", 1, 6, betweenHosts(transformer("b", "f"), fastBoard))
	p.hosts("PyTorch recorded, e g", 1, 6, betweenHosts(transformer("e", "g"), slowBoard))
	p.hosts("PyTorch recorded, unknown", 3, 6, betweenHosts(transformer("b", "e", "f", "g"), ""))
}

// truth is the truth of an attack by its wanted answer.
func (a attack) truth() string {
	for _, w := range a.wanted {
		switch {
		case w.answer == noVerdict && w.least == 100:
			return isOther
		case w.answer == fails && w.least > 0, w.answer == passes && w.most == 0:
			return isSlower
		}
	}
	return isUnchanged
}

func (p part) attacks() {
	for _, a := range attacks {
		policy := limited(cmp.Or(a.limit, thresholds.Default().Threshold))
		for n := range 20 {
			base, head := a.gate(p.Rand)
			p.judge(a.truth(), a.name, n, []model.Session{base}, []model.Session{head}, policy)
		}
	}
}

// steps are the rows of [BenchmarkSteps].
func (p part) steps() {
	truth := map[bool]string{true: isSlower, false: isUnchanged}
	judge := func(name string, slower bool, n int, base, head []float64) {
		p.judge(truth[slower], name, n, []model.Session{stepping("launch-starved", base...)},
			[]model.Session{stepping("launch-starved", head...)}, thresholds.Default())
	}
	for _, runs := range [][2]int{{3, 3}, {5, 3}, {5, 5}, {10, 5}} {
		for _, longer := range []float64{0, 50, 114} {
			for n := range 20 {
				var sides [2][]float64
				for i, k := range p.Perm(len(recordedSteps))[:runs[0]+runs[1]] {
					if i < runs[0] {
						sides[0] = append(sides[0], 1e3*recordedSteps[k])
					} else {
						sides[1] = append(sides[1], 1e3*(recordedSteps[k]+longer))
					}
				}
				judge(fmt.Sprintf("as recorded, longer by %g µs, %d → %d runs", longer, runs[0], runs[1]), longer > 0,
					n, sides[0], sides[1])
			}
		}
		row := func(name string, c cpu, change float64) {
			for n := range 15 {
				judge(fmt.Sprintf("%s, %d → %d runs", name, runs[0], runs[1]), change > 0, n,
					c.steps(p.Rand, runs[0], 0), c.steps(p.Rand, runs[1], change))
			}
		}
		for _, slow := range []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6} {
			for _, most := range []float64{0.15, 0.3, 0.7} {
				row(fmt.Sprintf("%g %% of the runs slower by up to %g %%", 100*slow, 100*most), cpu{slow, most, 0.005},
					0)
			}
		}
		for _, change := range []float64{0.1, 0.2, 0.47} {
			for _, sd := range []float64{0.002, 0.01, 0.025, 0.05} {
				row(fmt.Sprintf("longer by %g %%, sd %g %%", 100*change, 100*sd), cpu{sd: sd}, change)
			}
		}
	}
}

// stepRelations compares steps of several idle causes in every relation of two sides.
func (p part) stepRelations() {
	for _, class := range []string{"launch-starved", "blocking", "dependency-stalled", "micro gaps", "profiler"} {
		for _, relation := range []string{"interleaved", "back to back", "other day", "other host"} {
			for _, by := range []float64{0.8, 0.93, 1, 1.02, 1.06, 1.08, 1.15, 1.25, 2, 3.3} {
				truth := isUnchanged
				switch {
				case by > 1.05:
					truth = isSlower
				case by < 0.95:
					truth = isFaster
				}
				for n := range 4 {
					runs := []int{2, 3, 5, 5}[n]
					side := func(by float64) model.Session {
						return stepping(class, cpu{sd: 0.004}.steps(p.Rand, runs, by-1)...)
					}
					base, head := side(1), side(by)
					switch relation {
					case "back to back":
						head = moved(head, 10*time.Minute)
					case "other day":
						head = moved(head, 24*time.Hour)
					case "other host":
						head.GPUHash = model.HashUUID("GPU-b")
					}
					p.judge(truth, fmt.Sprintf("%s, %s, step ×%g", class, relation, by), n, []model.Session{base},
						[]model.Session{head}, thresholds.Default())
				}
			}
		}
	}
}

// batches compares sessions of one GPU that are minutes apart.
func (p part) batches() {
	sessions := batchSessions(p.tb)
	for i := range sessions {
		for _, apart := range []int{1, 2, 5, 12, 30} {
			for _, limit := range oracleLimits {
				if j := i + apart; j < len(sessions) {
					p.judge(isUnchanged, fmt.Sprintf("%d sessions apart, %g %%", apart, 100*limit), i, sessions[i:i+1],
						sessions[j:j+1], limited(limit))
				}
			}
		}
	}
}

// looks judges every look of a schedule, also those after the one that settles the gate.
func (p part) looks() {
	for i, x := range gatesOf(p.tb) {
		gates := 12
		if strings.HasPrefix(x.name, "PyTorch") {
			gates = 3
		}
		for _, schedule := range x.schedules {
			for _, effect := range x.effects {
				for n := range gates {
					base, head := x.gate(p.Rand, effect)
					for look, runs := range schedule {
						policy, sides := thresholds.Default(), 5
						if n%2 == 1 {
							sides = runs
						}
						truth := isUnchanged
						if effect > 0 {
							truth = at(isSlower, effect, 0.03)
						}
						// The error is shared evenly, so that the input does not depend on the decision.
						p.input(truth, fmt.Sprintf("%d %s, +%g %%, after %v, look %d", i, x.name, 100*effect, schedule,
							look+1), n,
							decide.Input{Baseline: []model.Session{base(sides)}, Head: []model.Session{head(runs)},
								Policy: policy.For(""),
								Look: decide.Look{Number: look + 1, Of: len(schedule), Runs: runs,
									MostRuns: slices.Max(schedule), Alpha: policy.Alpha / float64(len(schedule))}})
					}
				}
			}
		}
	}
}

// singleRuns compares five runs with one, in both directions.
func (p part) singleRuns() {
	for _, h := range slices.Concat(loadHosts(p.tb, "kernels", "a", "b"), loadHosts(p.tb, "transformer", "b")) {
		for n := range 15 {
			order := p.Perm(len(h.session.Runs))
			base, head := draw{host: &h, runs: order[:5]}.session(), draw{host: &h, runs: order[5:6]}.session()
			slow, _ := withSlower(p.Rand, head, 0.05)
			for _, limit := range oracleLimits[1:] {
				name := fmt.Sprintf("%s of %d runs, %g %%", h.name, len(order), 100*limit)
				p.judge(isUnchanged, name+", 5 → 1", n, []model.Session{base}, []model.Session{head}, limited(limit))
				p.judge(isSlower, name+", 5 → 1, a kernel +5 %", n, []model.Session{base}, []model.Session{slow},
					limited(limit))
				p.judge(isUnchanged, name+", 1 → 5", n, []model.Session{head}, []model.Session{base}, limited(limit))
				p.judge(isFaster, name+", 1 → 5, a kernel −5 %", n, []model.Session{slow}, []model.Session{base},
					limited(limit))
			}
		}
	}
}

// outputs are the rows of [TestOutputs].
func (p part) outputs() {
	cpu := model.Hardware{CPU: "EPYC 9554", Board: "692-2G520-0282-001"}
	for _, x := range []struct {
		name    string
		runs    int
		sd      float64 // between runs
		between float64 // sd between sessions
		effect  float64
		head    func(*made)
		cpu     bool // known, and the same
	}{
		{"quiet", 5, 0.003, 0, 0, nil, false}, {"1.5 %", 5, 0.015, 0, 0, nil, false},
		{"3 %", 5, 0.03, 0, 0, nil, false},
		{"6 %", 5, 0.06, 0, 0, nil, false}, {"3 %, two runs", 2, 0.03, 0, 0, nil, false},
		{"some runs slow", 5, -0.003, 0, 0, nil, false},
		{"some runs slow", 5, -0.003, 0, -0.2, nil, false}, {"quiet", 5, 0.003, 0, -0.1, nil, false},
		{"1.5 %", 5, 0.015, 0, -0.1, nil, false},
		{"quiet", 5, 0.003, 0, -0.05, nil, false}, {"quiet", 5, 0.003, 0, 0.1, nil, false},
		{"a later batch", 5, 0.01, 0.005, 0, batch, false},
		{"a later batch", 5, 0.01, 0.005, -0.1, batch, false}, {"another host", 5, 0.01, 0.04, 0, elsewhere, false},
		{"another host", 5, 0.01, 0.04, -0.3, elsewhere, false},
		{"another host", 5, 0.01, 0.04, -0.1, elsewhere, false},
		{"a host of the same kind", 5, 0.01, 0.01, 0, elsewhere, true},
		{"a host of the same kind", 5, 0.01, 0.01, -0.1, elsewhere, true},
	} {
		truth := isUnchanged
		switch {
		case x.effect < 0:
			truth = isSlower
		case x.effect > 0:
			truth = isFaster
		}
		for n := range 20 {
			m := six()
			base := m.printing(p.Rand, tokens, x.runs, 1000, x.sd)
			if x.head != nil {
				x.head(&m)
			}
			head := m.printing(p.Rand, tokens, x.runs, 1000*(1+x.effect)*math.Exp(math.Sqrt2*x.between*p.NormFloat64()),
				x.sd)
			if x.cpu {
				base.Hardware, head.Hardware = cpu, cpu
			}
			p.judge(truth, fmt.Sprintf("%s, output %+g %%", x.name, 100*x.effect), n, []model.Session{base},
				[]model.Session{head}, thresholds.Default())
		}
	}
}

// strict compares small effects at limits that noise alone decides, as a calibration foretells them.
func (p part) strict() {
	policy := limited(0.0005)
	policy.Rules = []thresholds.Rule{{Metric: "time"}, {Severity: thresholds.Ignore}}
	hosts := loadHosts(p.tb, "kernels", "a", "b")
	for i := range hosts {
		h := &hosts[i]
		for _, runs := range []int{3, 5} {
			for _, effect := range []float64{0, 0.002, 0.005, 0.01} {
				for n := range 20 {
					order := p.Perm(len(h.session.Runs))
					base, head := draw{host: h, runs: order[:runs]}.session(),
						draw{host: h, runs: order[runs : 2*runs]}.session()
					truth := isUnchanged
					if effect > 0 {
						truth = isSlower
					}
					head, _ = withSlower(p.Rand, head, effect)
					p.judge(truth, fmt.Sprintf("%s, %d runs, a kernel +%g %%", h.name, runs, 100*effect), n,
						[]model.Session{base}, []model.Session{head}, policy)
				}
			}
		}
	}
}

// counts compares calls, copies and graphs, with and without a rule for calls.
func (p part) counts() {
	ruled, err := thresholds.Parse("nsgate.toml", []byte("[[rule]]\nmetric = \"sync_calls\"\nmax = \"0%\"\n"))
	if err != nil {
		p.tb.Error(err)
		return
	}
	n := 0
	for _, x := range [][2]any{{"default", thresholds.Default()}, {"rule", ruled}} {
		for _, syncs := range []float64{0, 1, 3} {
			for _, copies := range [][2]float64{{1, 20e3}, {2, 23e3}, {1, 40e3}, {4, 80e3}} {
				for _, graphs := range []string{"", "node", "graph"} {
					for _, slower := range []float64{0.96, 1, 1.02, 1.04} {
						truth := isOther
						if copies[1] == 20e3 && slower == 1 && syncs == 0 {
							truth = isUnchanged
						}
						p.judge(truth, fmt.Sprintf("%s, %g calls, %g copies of %g ns, graphs %q, kernels ×%g", x[0],
							syncs, copies[0], copies[1], graphs, slower), n,
							counting(0, 1, 20e3, "", 1), counting(syncs, copies[0], copies[1], graphs, slower),
							x[1].(*thresholds.Policy))
					}
				}
			}
		}
	}
}

// counters compares pages of Nsight Compute.
func (p part) counters() {
	t, ok := p.tb.(*testing.T)
	if !ok {
		return
	}
	pages := map[string]string{"base.raw.csv": isUnchanged, "softmax_1.10.raw.csv": isSlower, "spill.raw.csv": isSlower}
	for name, text := range map[string]string{
		"default":   "",
		"registers": "[[rule]]\nmetric = \"registers\"\nmax = \"0%\"\n",
		"loads":     "[[rule]]\nmetric = \"local_loads\"\nat_most = \"0\"\n",
		"dram":      "[[rule]]\nkernel = \"saxpy\"\nmetric = \"dram_throughput\"\nat_least = \"99%\"\n",
	} {
		policy, err := thresholds.Parse("nsgate.toml", []byte(text))
		if err != nil {
			t.Error(err)
			return
		}
		for _, b := range slices.Sorted(maps.Keys(pages)) {
			for _, h := range slices.Sorted(maps.Keys(pages)) {
				truth := truthOf(pages[b], pages[h])
				if name == "dram" { // both sides break the bound
					truth = isOther
				}
				for runs := 1; runs <= 3; runs += 2 {
					p.judge(truth, fmt.Sprintf("%s → %s, %d runs, %s", b, h, runs, name), 0,
						counted(t, slices.Repeat([]string{b}, runs)...),
						counted(t, slices.Repeat([]string{h}, runs)...), policy)
				}
			}
		}
	}
}

// export is some recorded runs of one build: the name, the files below $NSGATE_RECORDINGS as a pattern, and which
// of them.
type export struct {
	name, pattern string
	from, to      int // of the files in order; to is 0 for all
	change        string
}

// exports compares recordings of a program as nsgate compare does: all ordered pairs with a baseline among the
// first so many.
func (p part) exports(program string, bases int, limits []float64, all ...export) {
	dir := os.Getenv("NSGATE_RECORDINGS")
	if dir == "" {
		return
	}
	read := make([]*profile.Recording, len(all))
	for i, x := range all {
		files, err := filepath.Glob(filepath.Join(dir, x.pattern))
		if err != nil || len(files) == 0 {
			p.tb.Errorf("no files %s: %v", x.pattern, err)
			return
		}
		if x.to > 0 {
			files = files[x.from:min(x.to, len(files))]
		}
		// A directory of links is one side, as nsgate compare takes it.
		side, err := os.MkdirTemp(p.tb.TempDir(), "")
		for _, f := range files {
			err = cmp.Or(err, os.Symlink(f, filepath.Join(side, filepath.Base(f))))
		}
		if err == nil {
			read[i], err = profile.Tools{}.Open(context.Background(), side)
		}
		if err != nil {
			id := fmt.Sprintf("%s|%s|%s, %s|open", p.kind, isOther, program, x.name)
			p.put(id, []string{strings.Join([]string{"gate", id, "no-verdict", "false", string(model.KindOf(err)), "-",
				"-", "-", "-"}, "\t")})
		}
	}
	for _, warmup := range []string{"", "0"} {
		for i, b := range all[:bases] {
			for j, h := range all {
				if i == j || read[i] == nil || read[j] == nil {
					continue
				}
				name := fmt.Sprintf("%s, %s → %s, warm-up %s", program, b.name, h.name, cmp.Or(warmup, "auto"))
				sides, err := profile.Cut(profile.Rule{Warmup: warmup}, read[i], read[j])
				for _, limit := range limits {
					truth, detail := at(truthOf(b.change, h.change), knownChange(h.name), limit),
						fmt.Sprintf("%s, %g %%", name, 100*limit)
					if err != nil {
						id := fmt.Sprintf("%s|%s|%s|00", p.kind, truth, detail)
						p.put(id, []string{strings.Join([]string{"gate", id, "no-verdict", "false",
							string(model.KindOf(err)), "-", "-", "-", "-"}, "\t")})
						continue
					}
					p.judge(truth, detail, 0, sides[0], sides[1], limited(limit))
				}
			}
		}
	}
}

func (p part) recordingsOfKernels() {
	a, b := "kernels/host-a/", "kernels/host-b/"
	p.exports("kernels", 8, oracleLimits, export{"a base 0–4", a + "base.*", 0, 5, isUnchanged},
		export{"a base 10–14", a + "base.*", 10, 15, isUnchanged}, export{"a base", a + "base.*", 0, 0, isUnchanged},
		export{"b base 0–4", b + "base.*", 0, 5, isUnchanged},
		export{"b base 20–24", b + "base.*", 20, 25, isUnchanged},
		export{"e", "kernels/host-e/*.sqlite", 0, 0, isUnchanged},
		export{"f", "kernels/host-f/*.sqlite", 0, 0, isUnchanged},
		export{"g", "kernels/host-g/*.sqlite", 0, 0, isUnchanged},
		export{"a base 20–22", a + "base.*", 20, 23, isUnchanged},
		export{"a saxpy_1.02 0–4", a + "saxpy_1.02.*", 0, 5, isSlower},
		export{"a saxpy_1.02", a + "saxpy_1.02.*", 0, 0, isSlower},
		export{"a saxpy_1.05 0–4", a + "saxpy_1.05.*", 0, 5, isSlower},
		export{"a softmax_1.03 0–4", a + "softmax_1.03.*", 0, 5, isSlower},
		export{"a idle_200us", a + "idle_200us.*", 0, 0, isSlower},
		export{"a extra_20", a + "extra_20.*", 0, 0, isSlower}, export{"a pageable", a + "pageable.*", 0, 0, isSlower},
		export{"a copies_4", a + "copies_4.*", 0, 0, isSlower}, export{"a spill", a + "spill.*", 0, 0, isSlower},
		export{"b contended", b + "contended.*", 0, 0, isOther},
		export{"b capture", b + "capture.*", 0, 0, isUnchanged})
}

func (p part) recordingsOfTransformer() {
	b := "transformer/host-b/"
	p.exports("transformer", 5, oracleLimits[1:],
		export{"b base 0–4", b + "base.*", 0, 5, isUnchanged}, export{"b base 5–9", b + "base.*", 5, 10, isUnchanged},
		export{"e", "transformer/host-e/*.sqlite", 0, 0, isUnchanged},
		export{"f", "transformer/host-f/*.sqlite", 0, 0, isUnchanged},
		export{"g", "transformer/host-g/*.sqlite", 0, 0, isUnchanged},
		export{"b unfused-norm", b + "unfused-norm.*", 0, 0, isSlower},
		export{"b item-sync", b + "item-sync.*", 0, 0, isOther},
		export{"b base-capture", b + "base-capture.*", 0, 0, isUnchanged},
		export{"b compile", b + "compile.*", 0, 0, isOther}, export{"b memusage", b + "memusage.*", 0, 0, isUnchanged})
}

func (p part) recordingsOfOthers() {
	all := []export{{"ddp", "multi/ddp.*", 0, 0, isUnchanged}, {"ddp-slow1", "multi/ddp-slow1.*", 0, 0, isSlower},
		{"ddp-joint", "multi/ddp-joint.*", 0, 0, isUnchanged},
		{"graph", "multi/graph.*", 0, 0, isOther}, {"graph-whole", "multi/graph-whole.*", 0, 0, isOther},
		{"jax-cuda-only", "multi/jax-cuda-only.*", 0, 0, isOther},
		{"cupy", "other/cupy*", 0, 0, isOther}, {"jax", "other/jax*", 0, 0, isOther}}
	p.exports("others", len(all), oracleLimits[1:], all...)
}
