package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/thresholds"
)

// policyFile is the name of the policy in the working directory or above it, up to the repository's root.
const policyFile = "nsgate.toml"

// maxPolicy is how much is read of a policy file, in bytes.
const maxPolicy = 1 << 20

// readPolicy reads a policy file, "" for the one that there is; without one it is the default.
func readPolicy(file string) (*thresholds.Policy, error) {
	if file = cmp.Or(file, findUp(policyFile)); file == "" {
		return thresholds.Default(), nil
	}
	err := foreign(file)
	var data []byte
	if err == nil {
		data, err = input.Read(file, maxPolicy)
	}
	if err != nil {
		return nil, fmt.Errorf("policy: %w; name another with --policy", err)
	}
	return thresholds.Parse(file, data)
}

// load reads the policy file, if there is one, and lays the flags over it.
func (v *flags) load() (*thresholds.Policy, error) {
	policy, err := readPolicy(v.policy)
	if err != nil {
		return nil, err
	}
	return policy, v.lay(limitNames, func(key, value, flag string) error {
		before := *policy
		err := policy.Set(key, value, flag)
		if !strings.HasPrefix(flag, "--") && (policy.Threshold > before.Threshold ||
			policy.StepThreshold > before.StepThreshold || policy.Cost > before.Cost) {
			v.looser = append(v.looser, fmt.Sprintf("%s=%s loosens the %s of the policy, which is %s", flag, value, key,
				setting(&before, key)))
		}
		return err
	})
}

// setting is the printed value of a key at the top of a policy file.
func setting(p *thresholds.Policy, key string) string {
	for _, s := range p.Settings() {
		if s.Table == "" && s.Name == key {
			return s.Value
		}
	}
	return ""
}

// findUp looks for a file in the working directory and, within a git checkout, in the directories above up to its root; "" if it is
// in none. Outside of a checkout the directories above may be another user's.
func findUp(name string) string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	found := ""
	for at := "."; ; at = filepath.Join(at, "..") {
		if _, err := os.Lstat(filepath.Join(at, name)); err == nil && found == "" {
			if found = filepath.Join(at, name); at == "." {
				return found
			}
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return found
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// foreign refuses a policy file of another user, or one that another user put in place: its commands would run as
// this one, in its directory. The directory of another user is trusted where git reads the repository there: the
// checkout of a CI job, or one that safe.directory names.
func foreign(file string) error {
	if owner, err := stranger(file); err != nil {
		return err
	} else if owner >= 0 {
		return fmt.Errorf("%s belongs to another user (uid %d), and its commands would run as you: "+
			"change its owner, or copy it", file, owner)
	}
	dir := policyDir(file)
	places := []string{dir}
	if top := git.Top(dir); top != "" {
		places = append(places, filepath.Join(top, ".git"))
	}
	for _, place := range places {
		owner, err := stranger(place)
		if err != nil {
			return err
		}
		if owner < 0 {
			continue
		}
		if _, err := git.Output(context.Background(), dir, "rev-parse", "--git-dir"); err != nil {
			return fmt.Errorf("%s belongs to another user (uid %d), and the commands of %s would run there as you: "+
				"change its owner, or copy the policy to a directory of your own; "+
				"a repository is trusted with git config --global --add safe.directory DIR", place, owner, file)
		}
	}
	return nil
}

// stranger is the user whom a file belongs to, or the link that stands for it, -1 where that is this one or root, or
// not known. Under sudo the user who called it is no stranger.
func stranger(name string) (uid int, err error) {
	caller, sudo := strconv.Atoi(os.Getenv("SUDO_UID"))
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(name)
		if err != nil {
			return -1, err
		}
		if owner, known := proc.Owner(info); known && owner != 0 && owner != os.Geteuid() && !(sudo == nil && owner == caller) {
			return owner, nil
		}
	}
	return -1, nil
}

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
	if dir == "" {
		return ""
	}
	return cmp.Or(git.Within(policyDir(policy), dir), dir)
}
