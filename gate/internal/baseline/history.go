package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/measure"
)

// How many sessions a baseline keeps: of one GPU by default, and of all GPUs.
const (
	DefaultKeep = 5
	maxSessions = 12
)

// Extend adds a session to those of a baseline and gives it an ID. A session taken on the same GPU within the hour is
// the same one, recorded again, and is replaced; the very same samples keep their ID. Of each GPU the newest keep
// sessions of each profiler stay (0: [DefaultKeep]), and the newest 12 of all; the one added always does. The result is
// sorted, the oldest first.
func Extend(sessions []measure.Session, s measure.Session, keep int) []measure.Session {
	if keep <= 0 {
		keep = DefaultKeep
	}
	s.ID = newID(&s, sessions, nil)
	old := slices.Clone(sessions)
	slices.SortStableFunc(old, byAge)
	kept, same := []measure.Session{s}, 1
	for _, o := range slices.Backward(old) {
		likewise := o.Profiler() == s.Profiler()
		if o.ID == s.ID || likewise && measure.SameSession(o.Environment, s.Environment) {
			continue
		}
		if len(kept) == maxSessions {
			break
		}
		if likewise && o.GPUHash == s.GPUHash {
			if same == keep {
				continue
			}
			same++
		}
		kept = append(kept, o)
	}
	slices.SortStableFunc(kept, byAge)
	return kept
}

// maxReason is the length of a reason in characters.
const maxReason = 500

// Accept makes the sessions of a report the baseline. The sessions so far that the same profiler measured no longer
// describe the code and are dropped. The reason is for reviewers and must be given; it is brought to one line.
func Accept(sessions []measure.Session, head []measure.Session, reason string) ([]measure.Session, error) {
	reason = measure.NormalizeLine(reason)
	switch n := utf8.RuneCountInString(reason); {
	case n == 0:
		return nil, errors.New("a reason is needed; say why the change is wanted, for those who review the baseline")
	case n > maxReason:
		return nil, fmt.Errorf("the reason has %d characters; say it in %d", n, maxReason)
	case len(head) == 0:
		return nil, errors.New("the report holds no measured sessions; make it anew with this version of nsgate")
	}
	accepted := make([]measure.Session, 0, len(head))
	for _, s := range head {
		s.ID = newID(&s, sessions, accepted)
		s.Reason = reason
		accepted = append(accepted, s)
	}
	for _, o := range sessions {
		if !slices.ContainsFunc(head, func(s measure.Session) bool { return s.Profiler() == o.Profiler() }) {
			accepted = append(accepted, o)
		}
	}
	slices.SortStableFunc(accepted, byAge)
	return accepted, nil
}

// newID names a session that is added to the others by its start, to the minute, and the hash of its GPU:
// 20261121T0151-1a2b3c4d. A number follows where one of the old or added sessions has that name, even one that is about
// to be replaced: then files of two versions of a baseline never agree by chance. Only an old session with the very
// same samples gives its ID away, so that what is stored twice changes nothing.
func newID(s *measure.Session, old, added []measure.Session) string {
	others := slices.Concat(old, added)
	taken := func(id string) bool {
		return slices.ContainsFunc(others, func(o measure.Session) bool { return o.ID == id })
	}
	for i := range old {
		if sameSamples(&old[i], s) && !slices.ContainsFunc(added, func(a measure.Session) bool { return a.ID == old[i].ID }) {
			return old[i].ID
		}
	}
	id := "unknown"
	if !s.Start.IsZero() {
		id = s.Start.UTC().Format("20060102T1504")
	}
	if s.GPUHash != "" {
		id += "-" + s.GPUHash
	}
	unique := id
	for n := 2; taken(unique); n++ {
		unique = id + "-" + strconv.Itoa(n)
	}
	return unique
}

// sameSamples reports whether two sessions are one recording: the same GPU and start, and every sample equal.
func sameSamples(a, b *measure.Session) bool {
	if a.GPUHash != b.GPUHash || !a.Start.Equal(b.Start) {
		return false
	}
	stored := func(s measure.Session) files {
		s.ID = "x"
		data, _ := encode([]measure.Session{s}) // nil where it cannot be stored: then it is like no other
		return data
	}
	x, y := stored(*a), stored(*b)
	return x != nil && bytes.Equal(x[samplesFile], y[samplesFile]) && bytes.Equal(x[subjectsFile], y[subjectsFile])
}
