package collect

import (
	"context"
	"strings"
)

// Others asks nvidia-smi which processes compute on each GPU now, by the GPU's UUID: file names of programs, without
// their directories, "" where another container hides the name.
func Others(ctx context.Context) (map[string][]string, error) {
	apps, err := newWatcher().apps(ctx)
	if err != nil {
		return nil, err
	}
	others := make(map[string][]string)
	for _, a := range apps {
		others[a.uuid] = append(others[a.uuid], a.name)
	}
	return others, nil
}

// Slows names what slows the GPU down, "" for nothing.
func (t Throttle) Slows() string {
	var names []string
	for _, n := range throttleNames {
		if t&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}
