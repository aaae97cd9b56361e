package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/thresholds"
)

// home is the directory that a policy is for: where its file lies, else the working directory. Baselines lie there, and the
// workloads of the file run there.
func home(file string) string {
	if file == "" {
		return "."
	}
	return filepath.Dir(file)
}

// kept is the directory of the baselines: what was given, else beside the policy file.
func kept(given, policy string) string {
	if given != "" {
		return given
	}
	return filepath.Join(home(policy), app.DefaultRoot)
}

// fromHome names a directory as it is seen from the policy file's, so that a report means the same wherever nsgate was started; as it
// is where that cannot be said.
func fromHome(policy, dir string) string {
	from, err1 := filepath.Abs(home(policy))
	to, err2 := filepath.Abs(dir)
	if relative, err := filepath.Rel(from, to); dir != "" && err1 == nil && err2 == nil && err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return dir
}

// choose finds the workloads that are meant: those of the policy file that --workload names, by patterns too, else all that can
// be run. One that the file lacks has no command, and the name that was given, "default" where none was.
func (m *measureFlags) choose(p *thresholds.Policy, command []string) ([]thresholds.Workload, error) {
	single := command != nil || m.from != ""
	if len(m.workload) == 0 {
		runnable := slices.DeleteFunc(slices.Clone(p.Workloads), func(w thresholds.Workload) bool { return w.Command == nil })
		switch {
		case command != nil || len(p.Workloads) == 0:
			return []thresholds.Workload{{Name: "default"}}, nil
		case len(p.Workloads) == 1:
			return p.Workloads, nil
		case m.from != "" || len(runnable) == 0:
			return nil, usageError("%s has several workloads: name that of these profiles with --workload (%s)", p.File, names(p.Workloads))
		}
		return runnable, nil
	}
	var chosen []thresholds.Workload
	for _, pattern := range m.workload {
		found := false
		for _, w := range p.Workloads {
			if !thresholds.Glob(pattern).Match(w.Name) {
				continue
			}
			found = true
			if !slices.ContainsFunc(chosen, func(c thresholds.Workload) bool { return c.Name == w.Name }) {
				chosen = append(chosen, w)
			}
		}
		switch {
		case found:
		case single && !strings.ContainsAny(pattern, "*?"):
			chosen = append(chosen, thresholds.Workload{Name: pattern})
		case len(p.Workloads) == 0:
			return nil, usageError("no workload %q: there is no %s that names any; give its command after --", pattern, policyFile)
		default:
			return nil, usageError("no workload %q in %s; %sit has %s; the command of another goes after --", pattern, p.File,
				meant("", pattern, strings.Split(names(p.Workloads), ", ")), names(p.Workloads))
		}
	}
	if single && len(chosen) > 1 {
		return nil, usageError("--workload names several workloads (%s), and what is given is of one", names(chosen))
	}
	return chosen, nil
}

// names lists workloads.
func names(workloads []thresholds.Workload) string {
	var out []string
	for _, w := range workloads {
		out = append(out, w.Name)
	}
	return strings.Join(out, ", ")
}
