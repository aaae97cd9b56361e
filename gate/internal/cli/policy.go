package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/thresholds"
)

type policyOptions struct {
	stored
	printed
	whole   bool   `flag:"all"`
	promote bool   `flag:"promote"`
	target  string `flag:"target" default:"1%"`
}

// Settings is the JSON of policy, for each of its files.
type Settings struct {
	Policy   string               `json:"policy"` // file, "" for none
	Settings []thresholds.Setting `json:"settings"`
}

// run shows each of the policy files, also behind one that is wrong.
func (v *policyOptions) run(_ context.Context, e *env, args arguments) error {
	files := args.own
	if len(files) == 0 || v.onLine("policy") {
		files = append(files, v.policy)
	}
	if v.format == "json" && len(files) > 1 {
		return usageError("--format json prints one policy file: name one alone")
	}
	code := ExitPass
	for i, file := range files {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		v.policy = file
		code = max(code, e.code(v.showPolicy(e)))
	}
	return &exit{code: code}
}

// showPolicy prints the settings of a file, or all, with the place of each, those of a workload or rule under its name.
func (v *policyOptions) showPolicy(e *env) error {
	p, err := v.load()
	if err != nil {
		return err
	}
	for i := range p.Workloads {
		if _, err := rowsOf(p, &p.Workloads[i]); err != nil {
			return usageError("%w", err)
		}
	}
	if v.promote {
		return v.promoted(e, p)
	}
	if v.format == "json" {
		return e.encode(Settings{p.File, p.Settings()})
	}
	t := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	line := func(label, value string) { fmt.Fprintf(t, "%s\t%s\n", report.Clean(label), report.Clean(value)) }
	line("policy", cmp.Or(p.File, "none, the defaults hold"))
	last, rule, defaults := "", 0, 0
	for _, s := range p.Settings() {
		if s.Where == thresholds.Unset && !v.whole {
			defaults++
			continue
		}
		label, value := measure.Either(s.Table != "", "  ", "")+s.Name, s.Value+" ("+s.Where+")"
		heading := strings.TrimSpace(s.Table + " " + s.Of)
		if s.Table == "workload.output" {
			switch s.Name {
			case "name":
				continue
			case "pattern": // it is the heading
				label = "  output " + s.Of
			default:
				label = "    " + s.Name
			}
		}
		if heading != last && s.Table == "rule" {
			line(heading, p.Rules[rule].String())
			rule++
		}
		last = heading
		switch {
		case s.Table == "workload" && s.Name == "name":
			continue // it is the heading of the command
		case s.Table == "workload" && s.Name == "command":
			label = heading
		}
		line(label, value)
	}
	t.Flush()
	if defaults > 0 {
		fmt.Fprintf(e.Out, "%s more as by default: nsgate policy --all\n", measure.Count(defaults, "setting"))
	}
	return nil
}

var shadowKey = input.Pattern(`^(\s*shadow\s*=\s*)true\b`)

// promoted turns shadow off in the policy file where the bound of its failures is at most the target.
func (v *policyOptions) promoted(e *env, p *thresholds.Policy) error {
	target, err := measure.ParsePercent(v.target)
	if err != nil || !(target > 0 && target < 1) {
		return usageError("%s: %q is no rate between 0%% and 100%%; the default is 1%%", source(v.fs, "target"),
			v.target)
	}
	place := p.Places.Of("shadow")
	if !p.Shadow {
		return usageError("--promote: shadow is not on (%s); where a command or action.yml says it, leave it out there",
			place)
	}
	score, err := app.ReadScore(baselineRoot(v.baseline, p.File))
	if err != nil {
		return err
	}
	if more := score.More(target); more > 0 {
		fmt.Fprintf(e.Out, "shadow stays on: %s, which is over %s; %s without a failure would bring it there\n",
			score.Text(), measure.Percent(target), measure.Count(more, "further commit"))
		return &exit{code: ExitNoVerdict}
	}
	text, err := input.Read(p.File, maxPolicy)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	at, err := strconv.Atoi(place[strings.LastIndexByte(place, ':')+1:])
	if err != nil || at < 1 || at > len(lines) || !shadowKey().MatchString(lines[at-1]) {
		return fmt.Errorf("%s: the line is not shadow = true; turn shadow off there yourself", place)
	}
	lines[at-1] = shadowKey().ReplaceAllString(lines[at-1], "${1}false")
	if err := git.Outward(e.ctx, p.File); err != nil {
		return err
	}
	if err := writeText(p.File, strings.Join(lines, "")); err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "shadow is off (%s): %s; review and commit it\n", report.Clean(place), score.Text())
	return nil
}

// policyFile is the name of the policy in the working directory or above it, up to the repository's root.
const policyFile = "nsgate.toml"

const maxPolicy = 1 << 20

// readPolicy reads a policy file, "" for the one that there is; without one it is the default.
func readPolicy(file string) (*thresholds.Policy, error) {
	file = cmp.Or(file, findPolicy())
	if file == "" {
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

// judging are the options of a command that judges, or says by which policy.
type judging struct {
	given
	policy    string             `flag:"policy,single"`
	otherHost bool               `flag:"other-host"` // the files may come from different hosts
	file      *thresholds.Policy // without the flags, nil where none was read
	looser    []string           // limits that flags and variables loosen, in words
}

// stored are the options of a command that knows the baselines.
type stored struct {
	judging
	baseline string `flag:"baseline,single"`
}

func (v *judging) load() (*thresholds.Policy, error) {
	policy, err := readPolicy(v.policy)
	if err != nil {
		return nil, err
	}
	laid := *policy
	v.policy, v.file = policy.File, policy
	laid.OtherHost = laid.OtherHost || v.otherHost
	return &laid, v.lay(limitNames, laid.Set)
}

// resolved is the policy for a workload. It notes what flags and variables loosen, except flags that loosen defaults.
func (v *judging) resolved(p *thresholds.Policy, workload string) *thresholds.Resolved {
	r := p.For(workload)
	v.loosened(r, v.file.For(workload), nil, "the policy")
	return r
}

func looser(flag, value, key, of, was string) string {
	return fmt.Sprintf("%s=%s loosens the %s of %s, which is %s", flag, value, key, of, was)
}

// loosened notes the keys by which a policy lets more pass than another, of rules those for what was measured; of names
// the other.
func (v *judging) loosened(r, was *thresholds.Resolved, measured []thresholds.Measured, of string) {
	for _, x := range r.Looser(was, measured) {
		name := strings.ReplaceAll(x.Key, "_", "-")
		if f := v.fs.Lookup(name); f == nil || f.Value.String() == "" {
			name = "policy"
		}
		flag := source(v.fs, name)
		if strings.HasPrefix(flag, "--") && x.Set == "" {
			continue
		}
		of := strings.Replace(x.Of, "the policy", of, 1)
		v.looser = measure.Once(v.looser, looser(flag, v.fs.Lookup(name).Value.String(), x.Key, of, x.Was))
	}
}

// findPolicy looks for the policy in the working directory and, within a git checkout, in those above up to its root;
// "" if it is in none. Outside of a checkout the directories above may be another user's.
func findPolicy() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	found := ""
	for at := "."; ; at = filepath.Join(at, "..") {
		file := filepath.Join(at, policyFile)
		if _, err := os.Lstat(file); err == nil {
			found = cmp.Or(found, file)
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil || found == policyFile {
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
	dir := filepath.Dir(file)
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

// stranger is the user whom a file or a link to it belongs to, -1 for this one, root, sudo's caller and one not known.
func stranger(name string) (uid int, err error) {
	caller, sudo := strconv.Atoi(os.Getenv("SUDO_UID"))
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(name)
		if err != nil {
			return -1, err
		}
		if owner, known := proc.Owner(info); known && owner != 0 && owner != os.Geteuid() &&
			!(sudo == nil && owner == caller) {
			return owner, nil
		}
	}
	return -1, nil
}

func baselineRoot(given, policy string) string {
	return cmp.Or(given, filepath.Join(filepath.Dir(policy), app.DefaultRoot))
}
