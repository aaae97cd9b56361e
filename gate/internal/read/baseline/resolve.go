package baseline

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// How many recorded sessions are in effect: of one GPU, and of all GPUs. Older ones stay as files, for drift.
const (
	Keep    = 5
	keepAll = 12
)

// sort puts the oldest first, and each file after those that it names, whatever their times.
func (b *Baseline) sort() {
	measure.Sort(b.Entries, func(x, y Entry) int { return byAge(x.Session, y.Session) })
	at := b.ids()
	out, done := make([]Entry, 0, len(b.Entries)), make([]bool, len(b.Entries))
	var put func(i int)
	put = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, id := range b.Entries[i].known() {
			if j, ok := at[id]; ok {
				put(j)
			}
		}
		out = append(out, b.Entries[i])
	}
	for i := range b.Entries {
		put(i)
	}
	b.Entries = out
}

func (b *Baseline) ids() map[string]int {
	at := make(map[string]int)
	for i := range b.Entries {
		at[b.Entries[i].ID] = i
	}
	return at
}

func (e *Entry) known() []string {
	out := slices.Concat(e.Beside, e.Supersedes)
	for _, ids := range e.Replaces {
		out = append(out, ids...)
	}
	if e.Removes != "" {
		out = append(out, e.Removes)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// state is derived from all entries together, by their place.
type state struct {
	b       *Baseline
	at      map[string]int
	removed []bool
	knows   []*big.Int // earlier entries that an entry knows, directly or through others, a bit each
	kept    []bool     // not removed, and among the newest
}

func (b *Baseline) state() *state {
	s := &state{b: b, at: b.ids(), removed: make([]bool, len(b.Entries)), kept: make([]bool, len(b.Entries))}
	for i := range b.Entries {
		knows := new(big.Int)
		for _, id := range slices.Backward(b.Entries[i].known()) { // mostly the newest first, which knows most others
			if j, ok := s.at[id]; ok && j < i && knows.Bit(j) == 0 {
				knows.SetBit(knows.Or(knows, s.knows[j]), j, 1)
			}
		}
		s.knows = append(s.knows, knows)
	}
	for i := len(b.Entries) - 1; i >= 0; i-- { // a removed removal has no effect
		if j, ok := s.at[b.Entries[i].Removes]; ok && !s.removed[i] && j < i {
			s.removed[j] = true
		}
	}
	overtaken := s.overtaken()
	type host struct {
		profiler model.Profiler
		gpu      string
	}
	whole, all := make(map[host]int), make(map[model.Profiler]int)
	for i := len(b.Entries) - 1; i >= 0; i-- {
		e := &b.Entries[i]
		at := host{e.Profiler(), e.GPUHash}
		if s.removed[i] || e.Removes != "" || overtaken[i] || whole[at] >= Keep || all[e.Profiler()] >= keepAll {
			continue
		}
		s.kept[i] = true
		if !e.Accepted {
			whole[at]++
			all[e.Profiler()]++
		}
	}
	return s
}

// overtaken marks the entries that a newer one replaces as a whole.
func (s *state) overtaken() []bool {
	out := make([]bool, len(s.b.Entries))
	for j := range s.b.Entries {
		for _, id := range s.b.Entries[j].Supersedes {
			if i, ok := s.at[id]; ok && i != j && !s.removed[j] {
				out[i] = true
			}
		}
	}
	return out
}

type claims struct {
	live []int // kept entries that hold the subject, and that nothing replaces for it, in their order
	gone []int // kept entries that replace it, and hold it no longer
	// apart are the entries of live and gone from two branches, at least one of which replaces the subject, sorted.
	apart []int
}

type subjectOf struct {
	measure.Subject
	profiler model.Profiler
}

func (s *state) claims() map[subjectOf]*claims {
	out := make(map[subjectOf]*claims)
	of := func(x measure.Subject, e *Entry) *claims {
		key := subjectOf{x, e.Profiler()}
		if out[key] == nil {
			out[key] = new(claims)
		}
		return out[key]
	}
	type share struct { // of an entry in a subject
		subjectOf
		entry int
	}
	replaced := make(map[share]bool) // mostly empty
	for i := range s.b.Entries {
		e := &s.b.Entries[i]
		for x, ids := range e.Replaces {
			for _, id := range ids {
				if j, ok := s.at[id]; ok && !s.removed[i] {
					replaced[share{subjectOf{x, e.Profiler()}, j}] = true
				}
			}
		}
	}
	for i := range s.b.Entries {
		e := &s.b.Entries[i]
		if !s.kept[i] {
			continue
		}
		holds := e.subjects()
		for _, x := range holds {
			if !replaced[share{subjectOf{x, e.Profiler()}, i}] {
				c := of(x, e)
				c.live = append(c.live, i)
			}
		}
		for x := range e.Replaces {
			if !slices.Contains(holds, x) && !replaced[share{subjectOf{x, e.Profiler()}, i}] {
				of(x, e).gone = append(of(x, e).gone, i)
			}
		}
	}
	for key, c := range out {
		c.apart = s.contested(key.Subject, slices.Concat(c.live, c.gone))
	}
	return out
}

// contested are entries of a subject from two branches that do not know each other. At least one replaces the subject.
func (s *state) contested(x measure.Subject, of []int) (out []int) {
	changes := func(i int) bool { return len(s.b.Entries[i].Supersedes) > 0 || len(s.b.Entries[i].Replaces[x]) > 0 }
	if !slices.ContainsFunc(of, changes) {
		return nil
	}
	of = slices.Sorted(slices.Values(of))
	before, changing, found := new(big.Int), new(big.Int), new(big.Int) // of the entries so far, a bit each
	for _, i := range of {
		with := measure.Either(changes(i), before, changing)
		if apart := new(big.Int).AndNot(with, s.knows[i]); apart.Sign() > 0 {
			found.SetBit(found.Or(found, apart), i, 1)
		}
		before.SetBit(before, i, 1)
		if changes(i) {
			changing.SetBit(changing, i, 1)
		}
	}
	return slices.DeleteFunc(of, func(i int) bool { return found.Bit(i) == 0 })
}

func (e *Entry) subjects() []measure.Subject {
	return slices.Compact(measure.Map(e.Series, func(x model.Series) measure.Subject { return x.Subject }))
}

// InEffect are the sessions that a head is compared with, the oldest first, each with the subjects that no other
// replaces. Where sessions of two branches replace the same one for the same subject, their merge was
// never measured, see [model.Series.Unmeasured].
func (b *Baseline) InEffect() []model.Session {
	s := b.state()
	all := s.claims()
	var out []model.Session
	for i := range b.Entries {
		e := &b.Entries[i]
		if !s.kept[i] {
			continue
		}
		session := e.Session
		session.Series = make([]model.Series, 0, len(e.Series))
		for _, x := range e.Series {
			c := all[subjectOf{x.Subject, e.Profiler()}]
			if c == nil || !slices.Contains(c.live, i) {
				continue
			}
			_, x.Unmeasured = slices.BinarySearch(c.apart, i)
			session.Series = append(session.Series, x)
		}
		if len(session.Series) > 0 {
			out = append(out, session)
		}
	}
	measure.Sort(out, byAge)
	return out
}

// SinceAnchor is every session since the last anchor, replaced or not, the oldest first, for measuring drift. It begins
// with the anchor's state: the newest whole session then, with its accepted changes; else with the oldest.
func (b *Baseline) SinceAnchor() []model.Session {
	var out []model.Session
	last := b.anchor()
	if last >= 0 {
		out = newestState((&Baseline{Dir: b.Dir, Entries: b.Entries[:last+1]}).InEffect())
	}
	out = append(out, b.since(last+1)...)
	measure.Sort(out, byAge)
	return out
}

// since are the sessions from an entry on that nothing takes back.
func (b *Baseline) since(from int) (out []model.Session) {
	s := b.state()
	for i := from; i < len(b.Entries); i++ {
		if e := &b.Entries[i]; !s.removed[i] && len(e.Series) > 0 {
			out = append(out, e.Session)
		}
	}
	return out
}

// anchor is the place of the last anchor, -1 where there is none.
func (b *Baseline) anchor() int {
	s, last := b.state(), len(b.Entries)-1
	for last >= 0 && (s.removed[last] || b.Entries[last].Removes != "" || b.Entries[last].Anchor == "") {
		last--
	}
	return last
}

// Known are the names of all files, and of the last anchor, "" where there is none.
func (b *Baseline) Known() (files []string, anchor string) {
	files = measure.Map(b.Entries, func(e Entry) string { return e.ID })
	if last := b.anchor(); last >= 0 {
		anchor = files[last]
	}
	return files, anchor
}

// Restore leaves what a baseline held when its files and its last anchor were [Baseline.Known] as these. It is an error
// where a file is gone.
func (b *Baseline) Restore(files []string, anchor string) error {
	at, then := b.ids(), map[string]bool{}
	for _, id := range files {
		if _, there := at[id]; !there {
			return fmt.Errorf("%s holds %s%s no longer", b.Dir, id, suffix)
		}
		then[id] = true
	}
	b.Entries = slices.DeleteFunc(b.Entries, func(e Entry) bool { return !then[e.ID] })
	for i := range slices.Backward(b.Entries) {
		e := &b.Entries[i]
		if e.ID == anchor {
			e.Anchor = cmp.Or(e.Anchor, anchor)
			break
		}
		e.Anchor = ""
	}
	return nil
}

// newestState leaves out, of sessions in order of age, whole ones before the newest of their profiler.
func newestState(sessions []model.Session) []model.Session {
	newest := map[model.Profiler]string{} // by ID
	for _, s := range sessions {
		if !s.Accepted {
			newest[s.Profiler()] = s.ID
		}
	}
	return slices.DeleteFunc(sessions,
		func(s model.Session) bool { return !s.Accepted && newest[s.Profiler()] != s.ID })
}

// All is every session that nothing takes back, whether another replaces it or not, the oldest first.
func (b *Baseline) All() []model.Session {
	out := b.since(0)
	measure.Sort(out, byAge)
	return out
}

// Kept is how many of some sessions would be in effect in a baseline of their own.
func Kept(sessions []model.Session) (n int) {
	b := &Baseline{}
	for i, s := range sessions {
		s.ID = strconv.Itoa(i)
		b.Entries = append(b.Entries, Entry{Session: s})
	}
	b.sort()
	return measure.HowMany(b.state().kept, func(kept bool) bool { return kept })
}

// Standing is the state of an entry.
type Standing struct {
	Live, Of int  // subjects of it that are in effect, out of all its subjects; a session that was not read has one
	Removed  bool // another takes it back
	Apart    int  // subjects that another branch changed as well, with an unmeasured merge
}

// Standings are the standings of all entries, in their order.
func (b *Baseline) Standings() []Standing {
	s := b.state()
	out := make([]Standing, len(b.Entries))
	for i := range b.Entries {
		out[i].Of, out[i].Removed = len(b.Entries[i].subjects()), s.removed[i]
		if b.Entries[i].lacks == bodies {
			out[i].Of = 1
		}
	}
	for _, c := range s.claims() {
		for _, i := range c.live {
			out[i].Live++
		}
		for _, i := range c.apart {
			out[i].Apart++
		}
	}
	return out
}

// byAge orders sessions by their start, those of unknown start first.
func byAge(a, b model.Session) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) }
