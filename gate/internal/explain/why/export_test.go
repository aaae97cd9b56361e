package why

import "github.com/nsgate/nsgate/gate/internal/read/counters"

// Rules are the names of the rules that apply.
func Rules(base, head counters.Kernel) (names []string) {
	list, _ := pair{typical(base), typical(head)}.spoken()
	for _, r := range list {
		names = append(names, r.name)
	}
	return names
}
