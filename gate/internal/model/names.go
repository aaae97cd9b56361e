package model

import "strings"

// mostDemangling bounds the cost of demangling the names of one recording: the sum of the squares of their lengths, since the time
// grows with the square. It allows 10,000 names of 300 bytes or 15 of 8 kB, the longest; both take about a second.
const mostDemangling = 1_000_000_000

// NameBudget counts the cost of demangling the names of a recording.
type NameBudget struct {
	spent int
	seen  map[string]bool
}

// Add counts a name, each once. The error is a *Refusal if all of them together take too long.
func (b *NameBudget) Add(file, raw string) error {
	if !strings.HasPrefix(raw, "_Z") && !strings.HasPrefix(raw, "_R") && !strings.HasPrefix(raw, "__nv_static_") || b.seen[raw] {
		return nil
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	b.seen[raw] = true
	const longest = 8 << 10 // longer names are not demangled
	if n := len(raw); n <= longest {
		b.spent += n * n
	}
	if b.spent > mostDemangling {
		return Refuse(TooLarge, "record fewer kernels", "%s: the mangled names of its kernels would take too long to read: "+
			"the squares of their lengths add up to more than %d", file, mostDemangling)
	}
	return nil
}
