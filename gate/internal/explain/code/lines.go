package code

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/explain/reason"
	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/locate"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Slower are the kernels that got slower, but for those whose code is known to be the same, by finding: their mangled
// names in the head's device code, none where it is not known. Where no kernel fails, sections are among them.
func Slower(r *result.Report, code []devicecode.Kernel) map[int][]string {
	names := map[string]string{}
	for _, k := range code {
		names[spelled(k.Name)] = k.Name
	}
	out := map[int][]string{}
	fails := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
		return f.Scope == measure.ScopeKernel && f.Gates
	})
	for i := range r.Findings {
		f := &r.Findings[i]
		kernel := f.Scope == measure.ScopeKernel && f.Unit == measure.Time.Unit
		section := f.Scope == measure.ScopeSection && !fails
		if f.Outcome != result.Slower || !kernel && !section ||
			slices.ContainsFunc(f.Facts, result.Is[reason.SameCode]) {
			continue
		}
		out[i] = nil
		for _, name := range append([]string{f.Name}, f.HeadNames...) {
			if mangled := names[spelled(name)]; mangled != "" && !slices.Contains(out[i], mangled) {
				out[i] = append(out[i], mangled)
			}
		}
	}
	return out
}

// Definitions finds the definition of a finding's kernel in a repository, which is searched once, for the first kernel.
// file is relative to its root. Of several definitions those in tracked files count, nil for all.
func Definitions(root fs.FS, tracked func(string) bool) func(f result.Finding) (file string, line int, ok bool) {
	definition := locate.Kernels(root, tracked)
	return func(f result.Finding) (string, int, bool) {
		if f.Scope != measure.ScopeKernel {
			return "", 0, false
		}
		return definition(f.Kernel, f.Name)
	}
}

// OtherCommand reports whether another command started the program than in the baseline.
func OtherCommand(r *result.Report) bool {
	return slices.ContainsFunc(r.Doubts, result.Is[reason.OtherCommand])
}

// Tree is the working tree of a repository beside the commit of a baseline.
type Tree struct {
	Root  string // of the repository
	Dir   string // where the program was built, for names relative to it
	Hunks []git.Hunk
	// Command is true where the program was started by another command than in the baseline.
	Command bool
	// Tracked reports whether git knows a file: lines of others cannot be compared.
	Tracked func(name string) bool

	files map[string]*file // by name relative to Root, nil for files that cannot be read
}

type file struct {
	locate.Source
	size int
}

// open is a source file of the repository, nil for another file.
func (t *Tree) open(name string) *file {
	const mostSource = 2 << 20 // bounds the bytes of a source file
	if f, known := t.files[name]; known {
		return f
	}
	if t.files == nil {
		t.files = map[string]*file{}
	}
	t.files[name] = nil
	differs := slices.ContainsFunc(t.Hunks, func(h git.Hunk) bool { return h.File == name }) // from a commit
	text, err := input.ReadWithin(new(bytes.Buffer), t.Root, name, mostSource)
	if err == nil && (differs || t.Tracked(name)) {
		if source, ok := locate.ReadSource(name, text); ok {
			t.files[name] = &file{source, len(text)}
		}
	}
	return t.files[name]
}

// own is the name of a file of a line table in the repository, "" for a file of another. A file that was built in
// another directory is a changed one of its name that has the size of the build.
func (t *Tree) own(l devicecode.Line) string {
	name := measure.Either(filepath.IsAbs(l.File), l.File, filepath.Join(t.Dir, l.File))
	if in := git.Within(t.Root, name); in != "" && t.open(in) != nil {
		return in
	}
	for _, h := range t.Hunks {
		if f := t.open(h.File); f != nil && f.size == l.Size &&
			path.Base(h.File) == path.Base(filepath.ToSlash(l.File)) {
			return h.File
		}
	}
	return ""
}

// span is changed lines, with the function that they are in, "" for none.
type span struct {
	git.Hunk
	function string
}

// Relation is what lines of a source file are to a kernel.
type Relation int

// Lines that it was compiled from, by its line table; the line of its definition; the line that launches it.
const (
	compiled Relation = iota
	Definition
	Launch
)

// Compiled says which lines of a kernel's code changed by its line table.
func (t *Tree) Compiled(lines []devicecode.Line) result.Remark { return t.changed(lines, compiled) }

// Source says which lines of a kernel's source changed that a compiler fused, empty where none did: whether its code
// did is not known then.
func (t *Tree) Source(lines []devicecode.Line) result.Remark {
	if said := t.changed(lines, compiled); result.Is[reason.ChangedLines](said) {
		return said
	}
	return result.Remark{}
}

// Changed says whether code around a line changed, nothing of a line in a file that git does not hold. file is relative
// to the repository.
func (t *Tree) Changed(file string, line int, is Relation) result.Remark {
	at := devicecode.Line{File: filepath.Join(t.Root, file), Number: line}
	if t.own(at) == "" {
		return result.Remark{}
	}
	return t.changed([]devicecode.Line{at}, is)
}

// Calling says which changed lines of C++ call what a finding is about: they launch its kernel, or call the CUDA
// function call, or that of allocations or of copies in its direction. It is empty where none does.
func (t *Tree) Calling(f result.Finding, call string) result.Remark {
	name, what := call, `\W%s\s*\(`
	switch {
	case call != "":
	case f.Scope == measure.ScopeKernel:
		name, what = f.Kernel, `\W%[1]s\s*(?:<[^;]*>\s*)?<<<|\WcudaLaunch\w*\(.*\W%[1]s\W`
	case f.Name == "memset", f.Metric == measure.Allocations.Name:
		name, what = measure.Either(f.Name == "memset", "cudaMemset", "cudaMalloc"), `\W%s\w*\s*\(`
	case f.Subject().Kind() == measure.ScopeCopy: // "memcpy HtoD"
		name = strings.NewReplacer("mem", "cudaMem", " ", "", "H", "Host", "to", "To", "D", "Device").Replace(f.Name)
		what = `\WcudaMemcpy\w*\s*\(.*\W%s\W`
	default:
		return result.Remark{}
	}
	calls := regexp.MustCompile(fmt.Sprintf(what, regexp.QuoteMeta(name)))
	var calling []span
	for _, h := range t.Hunks {
		for line := h.First; line <= h.Last && !h.Removed && t.open(h.File) != nil; line++ {
			if calls.MatchString(" " + t.open(h.File).Line(line, name)) {
				around, _ := t.open(h.File).Around(line)
				calling = append(calling, span{git.Hunk{File: h.File, First: line, Last: line}, around.Name})
			}
		}
	}
	if len(calling) == 0 {
		return result.Remark{}
	}
	return result.Say(reason.ChangedLines{Lines: texts(calling), Launch: true})
}

// Any says which source lines changed, whatever their code is. It is empty where none did.
func (t *Tree) Any() result.Remark {
	all := t.spans()
	if len(all) == 0 {
		return result.Remark{}
	}
	return result.Say(reason.ChangedLines{Lines: texts(all)})
}

// spans are the changed lines of sources, without those that are comments and blank lines alone.
func (t *Tree) spans() (all []span) {
	for _, h := range t.Hunks {
		f := t.open(h.File)
		if f == nil || !h.Removed && !f.Holds(h.First, h.Last) {
			continue
		}
		around, within := f.Around(h.First)
		all = append(all, span{h, measure.Either(within && overlaps(h, around), around.Name, "")})
	}
	return all
}

// Holds reports whether a line of a file, relative to the repository, is one that changed.
func (t *Tree) Holds(file string, line int) bool {
	return slices.ContainsFunc(t.Hunks, func(h git.Hunk) bool {
		return h.File == file && h.First <= line && line <= h.Last
	})
}

// Evidence is what is stated of the lines of a kernel's code and of those that launch it, each empty for none: changed
// lines alone where there are some, each once, and no unchanged definition beside a line that launches it.
func Evidence(ofCode, ofLaunch result.Remark) (said []result.Remark) {
	own, changed := result.As[reason.ChangedLines](ofCode)
	calling, launch := result.As[reason.ChangedLines](ofLaunch)
	none, _ := result.As[reason.NoChangedLines](ofCode)
	if ofCode.Key != "" && (changed || !launch && (ofLaunch.Key == "" || !none.Definition)) {
		said = append(said, ofCode)
	}
	if ofLaunch.Key != "" && (launch && !slices.Equal(own.Lines, calling.Lines) || !launch && !changed) {
		said = append(said, ofLaunch)
	}
	return said
}

// changed says which lines of a kernel's code changed: those of the functions that hold its lines, and those outside of
// functions in the same file of C++ or where a line of its own is.
func (t *Tree) changed(lines []devicecode.Line, are Relation) result.Remark {
	var changed, elsewhere []span
	var files []string
	inside, loose := map[string][]locate.Function{}, map[string][]int{} // loose lines lie in no function
	for _, l := range lines {
		name := t.own(l)
		if name == "" {
			continue
		}
		f := t.open(name)
		if l.Size > 0 && l.Size != f.size {
			return NoLines(name + " changed since it was built: build it again to see the line")
		}
		files = measure.Once(files, measure.NormalizeLine(path.Base(name)))
		if around, within := f.Around(l.Number); within {
			inside[name] = append(inside[name], around)
		} else {
			loose[name] = append(loose[name], l.Number)
		}
	}
	if len(files) == 0 {
		return NoLines("it was compiled from " + measure.NormalizeLine(lines[0].File) +
			", which git does not hold here as it was then: build it here to see the line")
	}
	for _, s := range t.spans() {
		of := inside[s.File]
		at := slices.IndexFunc(of, func(f locate.Function) bool { return overlaps(s.Hunk, f) })
		beside := len(loose[s.File]) > 0 || are != Launch && len(of) > 0 && path.Ext(s.File) != ".py"
		switch {
		case at >= 0:
			changed = append(changed, span{s.Hunk, of[at].Name})
		case s.function == "" && beside:
			changed = append(changed, s)
		default:
			elsewhere = append(elsewhere, s)
		}
	}
	if len(changed) > 0 {
		return result.Say(reason.ChangedLines{Lines: texts(changed), Launch: are == Launch})
	}
	return result.Say(reason.NoChangedLines{Files: files, Elsewhere: texts(elsewhere),
		Definition: are == Definition, Launch: are == Launch, Outside: len(loose) > 0, Command: t.Command})
}

// NoLines says why the changed lines of a kernel are not known.
func NoLines(because string) result.Remark { return result.Say(reason.NoLines{Because: because}) }

// overlaps reports whether changed lines lie in a function. Lines that were removed behind its last lie outside.
func overlaps(h git.Hunk, f locate.Function) bool {
	return measure.Either(h.Removed, f.First <= h.First && h.First < f.Last, h.First <= f.Last && f.First <= h.Last)
}

// texts are changed lines by file and function, those in functions first: "app.cu:41–47, 50, in saxpy".
func texts(spans []span) (out []string) {
	order := func(s span) int { return min(len(s.function), 1) }
	measure.Sort(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(order(b), order(a)), cmp.Compare(a.File, b.File), cmp.Compare(a.function, b.function))
	})
	for i := 0; i < len(spans); {
		first := spans[i]
		var numbers []string
		for ; i < len(spans) && spans[i].File == first.File && spans[i].function == first.function; i++ {
			s := spans[i]
			to := measure.Either(s.Last > s.First, fmt.Sprintf("–%d", s.Last), "")
			numbers = append(numbers, fmt.Sprint(s.First)+measure.Either(s.Removed, " (lines removed behind it)", to))
		}
		out = append(out, measure.NormalizeLine(first.File)+":"+strings.Join(few(numbers), ", ")+", "+
			measure.Either(first.function != "", "in "+first.function, "outside of functions"))
	}
	return few(out)
}

// few cuts a list to the first places.
func few(list []string) []string {
	const mostSpans = 4 // the number of changed places that a sentence names
	if more := len(list) - mostSpans; more > 0 {
		return append(list[:mostSpans], measure.Count(more, "more place"))
	}
	return list
}
