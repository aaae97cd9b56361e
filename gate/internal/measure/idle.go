package measure

import (
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// idleWhere stands between the class of a cause and its place.
const idleWhere = ": "

// The classes of idle time. The values are keys of baselines and of the JSON, and stay; reports print other words.
const (
	IdleLaunch     = "launch-starved"     // waiting for the CPU: the next launch had not been issued
	IdleSync       = "blocking"           // the host waited for the GPU, and issued late
	IdleDependency = "dependency-stalled" // an issued operation waits for an event or another stream
	IdleGaps       = "micro gaps"         // launch gaps: a few µs between operations that were issued in time
	IdleUnknown    = "unknown"            // the recording does not tell when the next operation was issued
)

// Place is where the host was while the GPU was idle. The zero value is no place: the host plays no part, as in
// [IdleGaps]. It is comparable.
type Place struct {
	Call  string // the CUDA call that the host was in, or [HostCode] outside of calls
	Range string // innermost NVTX range, "" for none
	After string // the synchronising CUDA call before code of the host, "" for none
}

// HostCode is the Call of a [Place] outside of CUDA calls; Elsewhere is the sum of places too small for a row.
const HostCode = "host code"

// Elsewhere is the place of idle time that is too short at each of its places for a row.
var Elsewhere = Place{Call: "elsewhere"}

// String is the text of baselines and of the JSON, which [ParsePlace] reads: "host code in step after cudaFree".
func (p Place) String() string {
	text := p.Call
	if p.Range != "" {
		text += " in " + p.Range
	}
	if p.After != "" {
		text += " after " + p.After
	}
	return text
}

var (
	isCall    = input.Pattern(`^(?:cu|hip)\w+$`)
	afterCall = input.Pattern(`^(.*) after ((?:cu|hip)\w+)$`)
)

// ParsePlace reads the text of a place. The text of its value is the text that was read, whatever that is.
func ParsePlace(text string) (p Place) {
	if m := afterCall().FindStringSubmatch(text); m != nil {
		text, p.After = m[1], m[2]
	}
	p.Call = text
	if !strings.HasSuffix(text, " in ") {
		p.Call, p.Range, _ = strings.Cut(text, " in ")
	}
	return p
}

// CUDA is the CUDA call that the host was in or came from, "" for none.
func (p Place) CUDA() string {
	switch {
	case p.Call == HostCode:
		return p.After
	case isCall().MatchString(p.Call):
		return p.Call
	}
	return ""
}

// Ends reports whether the text of the place ends with a call.
func (p Place) Ends(call string) bool {
	return p.After == call || p.After == "" && p.Range == "" && p.Call == call
}

// IdleSubject is a cause of idle time: its class, such as [IdleLaunch], and the place of the host in that time.
func IdleSubject(class string, at Place) Subject {
	if at != (Place{}) {
		class += idleWhere + at.String()
	}
	return Subject{Scope: ScopeIdle, Name: class}
}

// Idle takes the subject of a cause of idle time apart; both are zero for any other.
func (s Subject) Idle() (class string, at Place) {
	if s.Scope != ScopeIdle {
		return "", Place{}
	}
	class, where, _ := strings.Cut(s.Name, idleWhere)
	return class, ParsePlace(where)
}
