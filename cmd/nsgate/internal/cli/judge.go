package cli

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/gate/report/github"
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
	fs.StringVar(&p.file, "policy", "", "policy file (default nsgate.toml here or at the repository's root, if there is one)")
	fs.StringVar(&p.threshold, "threshold", "", "limit for times, such as 1% (default 3%)")
	fs.StringVar(&p.alpha, "alpha", "", "chance of a false alarm in a whole gate (default 1%)")
	fs.StringVar(&p.impact, "impact", "", "share of GPU time under which a kernel does not fail the gate by itself (default 0.5%)")
	fs.StringVar(&p.undecided, "undecided", "", "what to do when the data cannot decide: warn (exit 0) or fail (exit 3) (default warn)")
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
	for _, x := range []struct {
		flag, value string
		to          *float64
	}{{"threshold", p.threshold, &policy.Threshold}, {"alpha", p.alpha, &policy.Alpha}, {"impact", p.impact, &policy.Impact}} {
		if x.value == "" {
			continue
		}
		v, err := thresholds.ParsePercent(x.value)
		if err != nil {
			return nil, usageError("--%s: %v", x.flag, err)
		}
		*x.to = v
	}
	if policy.Alpha <= 0 || policy.Alpha >= 0.5 {
		return nil, usageError("--alpha: %s is not between 0 and 50 %%", p.alpha)
	}
	if p.threshold != "" {
		policy.TimeRule = "--threshold"
	}
	switch p.undecided {
	case "":
	case "warn", "fail":
		policy.Undecided = p.undecided
	default:
		return nil, usageError("--undecided: %q is neither warn nor fail", p.undecided)
	}
	return policy, nil
}

// of is the policy for one workload. Its own threshold replaces the file's, not the flag's.
func (p *policyFlags) of(policy *thresholds.Policy, workload string) *thresholds.Policy {
	c := policy.For(workload)
	if p.threshold != "" {
		c.Threshold, c.TimeRule = policy.Threshold, policy.TimeRule
	}
	return c
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

// outputFlags say where a report goes.
type outputFlags struct {
	format      string
	files       []string
	annotations string
	color       string
	patch       string
	patchReason string
	verbose     bool
	quiet       bool
}

func (o *outputFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.format, "format", "text", "what is printed: "+strings.Join(report.Formats(), ", "))
	fs.StringArrayVar(&o.files, "report", nil, "write the report to a file as well: FORMAT=FILE, repeatable")
	fs.StringVar(&o.patch, "patch", "", "where the gate fails, write a git patch to this file that accepts the change into the baseline")
	fs.StringVar(&o.patchReason, "patch-reason", "", "the reason that --patch records (default: what changed)")
	fs.StringVar(&o.annotations, "annotations", "auto", "GitHub annotations, job summary and outputs: auto, always or never")
	fs.StringVar(&o.color, "color", "auto", "colour in text: auto, always or never")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "show every comparison and full names")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print the verdict only")
}

// check refuses values that would only come to light after the measurement.
func (o *outputFlags) check() error {
	if !slices.Contains(report.Formats(), o.format) {
		return usageError("--format: %q is none of %s", o.format, strings.Join(report.Formats(), ", "))
	}
	for _, f := range o.files {
		format, file, ok := strings.Cut(f, "=")
		if !ok || file == "" || !slices.Contains(report.Formats(), format) {
			return usageError("--report: %q is not FORMAT=FILE with a format of %s", f, strings.Join(report.Formats(), ", "))
		}
		if err := writable(file); err != nil {
			return usageError("--report: %w", err)
		}
	}
	if o.patch != "" {
		if err := writable(o.patch); err != nil {
			return usageError("--patch: %w", err)
		}
	}
	for _, x := range [][2]string{{"annotations", o.annotations}, {"color", o.color}} {
		if !slices.Contains([]string{"auto", "always", "never"}, x[1]) {
			return usageError("--%s: %q is none of auto, always, never", x[0], x[1])
		}
	}
	return nil
}

// publish prints and writes the report and turns its verdict into the command's error. rows finds a finding's row in
// the baseline, nil where there is none.
func (o *outputFlags) publish(e *env, r *gate.Report, rows func(gate.Finding) (string, int, bool)) error {
	code := map[gate.Verdict]int{gate.Pass: ExitPass, gate.Fail: ExitFail, gate.NoVerdict: ExitNoVerdict}[r.Verdict]
	notices := ownEdits(e, r)
	for _, n := range notices {
		r.Warnings = append(r.Warnings, n.Message)
	}
	options := report.Options{Width: width(e), Color: o.coloured(e), Verbose: o.verbose || e.getenv("RUNNER_DEBUG") == "1", Quiet: o.quiet}
	options.Locate = locate(e, rows)
	if err := report.Render(o.format, e.Out, r, options); err != nil {
		return err
	}
	for _, f := range o.files {
		format, file, _ := strings.Cut(f, "=")
		if err := writeFile(file, func(w io.Writer) error {
			return report.Render(format, w, r, report.Options{Verbose: true, Locate: options.Locate})
		}); err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if o.patch != "" && r.Verdict == gate.Fail {
		if err := writePatch(o.patch, r, o.patchReason); err != nil {
			return fmt.Errorf("--patch: %w", err)
		}
	}
	if o.annotations == "always" || o.annotations == "auto" && e.getenv("GITHUB_ACTIONS") == "true" {
		var summary strings.Builder
		if err := report.Render("markdown", &summary, r, report.Options{}); err != nil {
			return err
		}
		to := e.Out
		if o.format != "text" {
			to = e.Err
		}
		err := github.Publish(r, summary.String(), code,
			github.Options{Writer: to, Getenv: e.getenv, Locate: options.Locate, Notices: notices})
		if err != nil {
			return err
		}
	}
	if code == ExitPass {
		return nil
	}
	return &exit{code: code, quiet: true}
}

// locate finds the place of a finding in the repository: the kernel's definition, else its row in the baseline. Files
// are relative to the repository's root, which is the CI host's workspace or where .git is.
func locate(e *env, rows report.Locator) report.Locator {
	root := cmp.Or(e.getenv("GITHUB_WORKSPACE"), e.getenv("CI_PROJECT_DIR"), repository())
	var files fs.FS
	if root != "" {
		files = os.DirFS(root)
	}
	return report.NewLocator(files, func(f gate.Finding) (string, int, bool) {
		if rows == nil {
			return "", 0, false
		}
		file, line, ok := rows(f)
		if ok {
			file = within(root, file)
		}
		return file, line, ok && file != ""
	})
}

// repository is the directory above the working directory that holds .git, "" where none does.
func repository() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// within names a file relative to root, with slashes; as it is where root is unknown, "" where it lies elsewhere.
func within(root, file string) string {
	if root == "" {
		return filepath.ToSlash(file)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	if relative, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	// Either may have been reached through a symbolic link.
	realRoot, err1 := filepath.EvalSymlinks(root)
	realPath, err2 := filepath.EvalSymlinks(path)
	if relative, err := filepath.Rel(realRoot, realPath); err1 == nil && err2 == nil && err == nil && filepath.IsLocal(relative) {
		return filepath.ToSlash(relative)
	}
	return ""
}

func (o *outputFlags) coloured(e *env) bool {
	switch {
	case o.color == "always":
		return true
	case o.color == "never" || e.getenv("NO_COLOR") != "" || e.getenv("TERM") == "dumb":
		return false
	}
	return columns(e.Out) > 0
}

// width is the terminal's width; COLUMNS, then 100 where there is none.
func width(e *env) int {
	if n := columns(e.Out); n > 0 {
		return n
	}
	if n, err := strconv.Atoi(e.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 100
}

// columns is the width of the terminal that w writes to, 0 where it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return max(int(size.Col), 1)
}
