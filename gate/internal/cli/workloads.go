package cli

import (
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
)

// policyDir is the directory of a policy file, the working directory without one. Baselines lie there, and the
// workloads of the file run there.
func policyDir(file string) string {
	if file == "" {
		return "."
	}
	return filepath.Dir(file)
}

// baselineRoot is the directory of the baselines: the given one, else that next to the policy file.
func baselineRoot(given, policy string) string {
	if given != "" {
		return given
	}
	return filepath.Join(policyDir(policy), app.DefaultRoot)
}

// relativeToPolicy names a directory relative to that of the policy file, so that a report does not depend on where nsgate was started.
// A directory outside of that is returned as it is.
func relativeToPolicy(policy, dir string) string {
	from, err1 := filepath.Abs(policyDir(policy))
	to, err2 := filepath.Abs(dir)
	if relative, err := filepath.Rel(from, to); dir != "" && err1 == nil && err2 == nil && err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return dir
}
