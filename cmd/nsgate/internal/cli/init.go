package cli

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/thresholds"
)

func initCommand() *command {
	return &command{
		name:    "init",
		usage:   "[flags]",
		summary: "write a commented nsgate.toml and CI files to start from",
		bind: func(fs *pflag.FlagSet) action {
			ci := fs.String("ci", "auto", "CI files to write: auto, github, gitlab or none")
			return func(_ context.Context, e *env, _ arguments) error {
				if err := oneOf("ci", *ci, "auto", "github", "gitlab", "none"); err != nil {
					return err
				}
				return initialize(e, *ci)
			}
		},
	}
}

// finds is what init saw in a repository.
type finds struct {
	github, gitlab bool
	Build          string      // command that builds it, "" for none found
	Workloads      []candidate // at most maxCandidates, likeliest first
}

// candidate is a program that may be worth measuring.
type candidate struct{ Name, Command, Why string }

const maxCandidates = 5

// templates are the files that init writes, filled in with what it found. The policy has the first workload to begin with
// and the others as comments; CI checks the first.
//
//go:embed init
var templates embed.FS

var initFiles = template.Must(template.New("").Funcs(template.FuncMap{"keys": keys}).ParseFS(templates, "init/*.tmpl"))

func initialize(e *env, ci string) error {
	root := cmp.Or(check.Repository(), ".")
	found := look(os.DirFS(root))
	if ci == "auto" {
		remote := check.Origin(root)
		found.github = found.github || hosted(remote, "github")
		found.gitlab = found.gitlab || hosted(remote, "gitlab")
	} else {
		found.github, found.gitlab = ci == "github", ci == "gitlab"
	}
	with := *found
	if len(with.Workloads) == 0 {
		with.Workloads = []candidate{{"app", "./app --steps 60", "put your program here"}}
	}
	fresh := false // the policy was written
	for _, f := range []struct {
		name, template string
		wanted         bool
	}{
		{policyFile, "nsgate.toml.tmpl", true},
		{".github/workflows/nsgate.yml", "github.yml.tmpl", found.github},
		{".gitlab/nsgate.yml", "gitlab.yml.tmpl", found.gitlab},
	} {
		if !f.wanted {
			continue
		}
		switch err := create(filepath.Join(root, filepath.FromSlash(f.name)), f.template, with); {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(e.Out, "kept   %s, which exists\n", f.name)
		case err != nil:
			return err
		default:
			fmt.Fprintf(e.Out, "wrote  %s\n", f.name)
			fresh = fresh || f.name == policyFile
		}
	}
	for _, c := range found.Workloads {
		fmt.Fprintf(e.Out, "found  %s (%s)\n", c.Command, c.Why)
	}
	var next []string
	switch {
	case fresh && len(found.Workloads) > 0:
		next = append(next, "look at the workloads in "+policyFile+": short and repeatable, fixed input, fixed number of steps")
	case fresh:
		next = append(next, "name your program in "+policyFile+", under [[workload]]")
	}
	next = append(next, "nsgate doctor     on the GPU machine: what is missing there",
		"nsgate record     on the code to compare with; commit .nsgate", "nsgate check      before a merge")
	switch {
	case found.github:
		next = append(next, "set the runner's labels in .github/workflows/nsgate.yml and commit it")
	case found.gitlab:
		next = append(next, "include .gitlab/nsgate.yml in .gitlab-ci.yml: include: [{local: .gitlab/nsgate.yml}]")
	default:
		next = append(next, "nsgate init --ci github or gitlab writes a workflow or a job")
	}
	fmt.Fprint(e.Out, "\nNext:\n")
	for i, step := range next {
		fmt.Fprintf(e.Out, "  %d. %s\n", i+1, step)
	}
	return nil
}

// create writes a new file and fails where there is one.
func create(name, template string, found finds) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(initFiles.ExecuteTemplate(f, template, found), f.Close())
}

// keys writes the keys of a table as comments, what each means behind it: behind mark those with their default, behind #
// those that have none, as an example.
func keys(table, mark string) string {
	var b strings.Builder
	for _, k := range thresholds.Keys() {
		if k.Table != table || k.Table == "workload" && (k.Name == "name" || k.Name == "command") {
			continue
		}
		setting := "# " + k.Name + " = " + k.Example
		if k.Literal() {
			setting = mark + k.Name + " = " + k.Default
		}
		fmt.Fprintf(&b, "%-23s # %s\n", setting, k.Doc)
	}
	return b.String()
}

// hosted reports whether a remote's host is of this name: github.com, gitlab.example.org.
func hosted(remote, name string) bool {
	host := hostOf.FindStringSubmatch(remote)[1]
	return slices.Contains(strings.Split(host, "."), name)
}

var (
	hostOf         = regexp.MustCompile(`^(?:[^:]*://)?(?:[^@]*@)?([^/:]*)`)
	cmakeProgram   = regexp.MustCompile(`(?i)\b(?:cuda_)?add_executable\s*\(\s*([A-Za-z0-9_.+-]+)\s`)
	makeProgram    = regexp.MustCompile(`(?m)^([A-Za-z0-9_+/-][A-Za-z0-9_.+/-]*)\s*:[^=].*\.(?:cu|o)\b`)
	mainFunction   = regexp.MustCompile(`(?m)^\s*(?:int|auto)\s+main\s*\(`)
	gpuImport      = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(torch|jax|triton|cupy|numba\.cuda|tensorflow)\b`)
	pythonMain     = regexp.MustCompile(`(?m)^if __name__ == ['"]__main__['"]`)
	plainPath      = regexp.MustCompile(`^[A-Za-z0-9._+/-]+$`) // it goes into a file and a shell
	nameCharacters = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// strangers are directories of other people's code.
var strangers = []string{"node_modules", "vendor", "third_party", "3rdparty", "external", "venv", "site-packages"}

// look finds the CI host, the build and what may be a workload. Of a large repository it sees the beginning.
func look(root fs.FS) *finds {
	found := &finds{}
	var compiled, python, sources []candidate
	files := 0
	fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		dir, base, ext := path.Dir(file), path.Base(file), path.Ext(file)
		switch {
		case err != nil:
			return nil
		case entry.IsDir():
			found.github = found.github || file == ".github"
			found.gitlab = found.gitlab || file == ".gitlab"
			if file != "." && strings.HasPrefix(base, ".") || strings.Count(file, "/") > 4 || slices.Contains(strangers, base) {
				return fs.SkipDir
			}
			return nil
		case file == ".gitlab-ci.yml":
			found.gitlab = true
		}
		if files++; files > 20_000 {
			return fs.SkipAll
		}
		if !plainPath.MatchString(file) || base != "CMakeLists.txt" && base != "Makefile" && ext != ".cu" && ext != ".py" {
			return nil
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return nil
		}
		program := strings.TrimSuffix(file, ext)
		switch {
		case base == "CMakeLists.txt":
			if dir == "." {
				found.Build = "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j"
			}
			if bytes.Contains(bytes.ToUpper(text), []byte("CUDA")) {
				for _, m := range cmakeProgram.FindAllSubmatch(text, -1) {
					compiled = append(compiled, newCandidate(path.Join("build", dir, string(m[1])), "a program of "+file))
				}
			}
		case base == "Makefile":
			if dir == "." {
				found.Build = cmp.Or(found.Build, "make -j")
			}
			if bytes.Contains(text, []byte("nvcc")) || bytes.Contains(text, []byte("NVCC")) {
				for _, m := range makeProgram.FindAllSubmatch(text, -1) {
					if target := string(m[1]); !strings.HasSuffix(target, ".o") {
						compiled = append(compiled, newCandidate(path.Join(dir, target), "a target of "+file))
					}
				}
			}
		case ext == ".cu" && mainFunction.Match(text):
			sources = append(sources, newCandidate(program, file+" has a main function"))
		case ext == ".py" && !strings.HasPrefix(base, "test_") && pythonMain.Match(text):
			if m := gpuImport.FindSubmatch(text); m != nil {
				c := newCandidate(program, "imports "+string(m[1]))
				c.Command = "python3 " + file
				python = append(python, c)
			}
		}
		return nil
	})
	if len(compiled) == 0 {
		compiled = sources
	}
	names := make(map[string]bool)
	for _, c := range append(compiled, python...) {
		if len(found.Workloads) < maxCandidates && !names[c.Name] {
			names[c.Name] = true
			found.Workloads = append(found.Workloads, c)
		}
	}
	// Benchmarks are made to be measured.
	slices.SortStableFunc(found.Workloads, func(a, b candidate) int {
		bench := func(c candidate) int { return strings.Count(strings.ToLower(c.Command), "bench") }
		return min(bench(b), 1) - min(bench(a), 1)
	})
	return found
}

func newCandidate(program, why string) candidate {
	command := program
	if !strings.Contains(program, "/") {
		command = "./" + program
	}
	return candidate{nameCharacters.ReplaceAllString(path.Base(program), "-"), command, why}
}
