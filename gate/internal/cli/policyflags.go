package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/thresholds"
)

// policyFile is the name under which a policy is looked for in the working directory and above it, up to the
// repository's root.
const policyFile = "nsgate.toml"

// policyFlags say what is allowed.
type policyFlags struct {
	file, threshold, alpha, impact, undecided string
}

func (p *policyFlags) bind(fs *pflag.FlagSet) {
	p.bindFile(fs)
	fs.StringVarP(&p.threshold, "threshold", "t", "", "limit for times, such as 1% (default 3%)")
	fs.StringVar(&p.alpha, "alpha", "", "chance of a false alarm in a whole gate (default 1%)")
	fs.StringVar(&p.impact, "impact", "", "share of GPU time under which a kernel does not fail the gate by itself (default 0.5%)")
	fs.StringVar(&p.undecided, "undecided", "", "what to do when the data cannot decide: warn (exit 0) or fail (exit 3) (default warn)")
}

// bindTyped binds them as [typed], and returns their names.
func (p *policyFlags) bindTyped(fs *pflag.FlagSet) (names []string) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	p.bind(own)
	own.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{typed: {}}
		names = append(names, f.Name)
		fs.AddFlag(f)
	})
	return names
}

func (p *policyFlags) bindFile(fs *pflag.FlagSet) {
	fs.Var((*once)(&p.file), "policy", "policy file (default nsgate.toml here or at the repository's root, if there is one)")
}

// load reads the policy file, if there is one, and lays the flags over it.
func (p *policyFlags) load() (*thresholds.Policy, error) {
	policy := thresholds.Default()
	file := p.file
	if file == "" {
		file = findUp(policyFile)
	}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("policy: %w; name another with --policy", err)
		}
		if policy, err = thresholds.Parse(file, data); err != nil {
			return nil, err
		}
	}
	for _, x := range [][2]string{{"threshold", p.threshold}, {"alpha", p.alpha}, {"impact", p.impact}, {"undecided", p.undecided}} {
		if x[1] == "" {
			continue
		}
		if err := policy.Set(x[0], x[1], "--"+x[0]); err != nil {
			return nil, usageError("--%w", err)
		}
	}
	return policy, nil
}

// findUp looks for a file here and in the directories above, not beyond the root of a git checkout; "" if it is in none.
func findUp(name string) string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for at := "."; ; at = filepath.Join(at, "..") {
		if s, err := os.Stat(filepath.Join(at, name)); err == nil && s.Mode().IsRegular() {
			return filepath.Join(at, name)
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil || filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
