package cli

import (
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/app"
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
