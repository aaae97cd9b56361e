package check

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/baseline"
	"github.com/nsgate/nsgate/gate/collect"
	"github.com/nsgate/nsgate/gate/measure"
)

// Accept takes what a report measured as the new baseline.
type Accept struct {
	Report *gate.Report
	// Reason says why the change is wanted, for those who review the baseline. It must be given.
	Reason string
	// Root is the directory of the baselines, "" for where the report's baseline is.
	Root string
}

// Dir is the baseline that takes the report's measurement.
func (a Accept) Dir() string {
	// A report is a file from elsewhere: it does not choose a place outside this directory.
	if a.Root == "" && a.Report.Baseline != "" && filepath.IsLocal(a.Report.Baseline) {
		return a.Report.Baseline
	}
	head := a.Report.HeadSessions
	return baseline.Dir(cmp.Or(a.Root, DefaultRoot), cmp.Or(a.Report.Workload, "default"), head[len(head)-1].GPU)
}

// Run writes the baseline.
func (a Accept) Run() error {
	return baseline.Update(a.Dir(), func(old []measure.Session) ([]measure.Session, error) {
		return baseline.Accept(old, a.Report.HeadSessions, a.Reason)
	})
}

// Patch is what Run would change, as a patch for git apply relative to the root of the repository.
func (a Accept) Patch(repository string) (string, error) {
	if a.Report.Baseline == "" || len(a.Report.HeadSessions) == 0 {
		return "", errors.New("this report has no committed baseline that could be updated; leave --patch out")
	}
	dir := a.Dir()
	name := Within(repository, dir)
	if repository == "" || name == "" {
		return "", fmt.Errorf("the baseline %s lies outside the repository; leave --patch out, or keep it inside", dir)
	}
	old, err := tables(dir)
	if err != nil {
		return "", err
	}
	var updated map[string]string
	err = collect.Private(func(private string) (err error) {
		updated, err = accepted(filepath.Join(private, "baseline"), old, a.Report.HeadSessions, a.Reason)
		return err
	})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, table := range sortedKeys(updated) {
		before, existed := old[table]
		out.WriteString(patch(path.Join(name, table), before, existed, updated[table]))
	}
	return out.String(), nil
}

// accepted are the tables of a baseline after accept, which is done to a copy in the new directory tmp.
func accepted(tmp string, old map[string]string, head []measure.Session, reason string) (map[string]string, error) {
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	for name, text := range old {
		if err := os.WriteFile(filepath.Join(tmp, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	err := baseline.Update(tmp, func(sessions []measure.Session) ([]measure.Session, error) {
		return baseline.Accept(sessions, head, reason)
	})
	if err != nil {
		return nil, err
	}
	return tables(tmp)
}

// tables reads the files of a baseline by name; none where there is no baseline.
func tables(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out[filepath.Base(f)] = string(text)
	}
	return out, nil
}

// patch is the change of one file in git's format, "" for none: one hunk from the first line that differs to the last,
// with three lines of context.
func patch(name, before string, existed bool, after string) string {
	if existed && before == after {
		return ""
	}
	a, b := lines(before), lines(after)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < min(len(a), len(b))-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	const context = 3
	from := max(same-context, 0)
	keep := min(tail, context)

	var s strings.Builder
	fmt.Fprintf(&s, "diff --git %s %s\n", quoteName("a/"+name), quoteName("b/"+name))
	if existed {
		fmt.Fprintf(&s, "--- %s\n+++ %s\n", header("a/"+name), header("b/"+name))
	} else {
		fmt.Fprintf(&s, "new file mode 100644\n--- /dev/null\n+++ %s\n", header("b/"+name))
	}
	oldLines, newLines := a[from:len(a)-tail+keep], b[from:len(b)-tail+keep]
	start := func(n int) int { return from + min(n, 1) } // a side without lines begins before the first
	fmt.Fprintf(&s, "@@ -%d,%d +%d,%d @@\n", start(len(oldLines)), len(oldLines), start(len(newLines)), len(newLines))
	for _, part := range []struct {
		mark  string
		lines []string
	}{{" ", a[from:same]}, {"-", a[same : len(a)-tail]}, {"+", b[same : len(b)-tail]}, {" ", a[len(a)-tail : len(a)-tail+keep]}} {
		for _, l := range part.lines {
			s.WriteString(part.mark + l)
			if !strings.HasSuffix(l, "\n") {
				s.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return s.String()
}

// lines splits a text behind every line feed.
func lines(s string) []string { return slices.Collect(strings.Lines(s)) }

// header is a name as it stands behind --- and +++: a tab ends one that holds spaces.
func header(name string) string {
	q := quoteName(name)
	if q == name && strings.Contains(name, " ") {
		return name + "\t"
	}
	return q
}

// quoteName writes a file name as git does: as it is, or as a C string where it holds quotes, backslashes, control
// characters or bytes beyond ASCII.
func quoteName(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= 0x7f }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}
