package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/check"
	"github.com/nsgate/nsgate/thresholds"
)

func initCommand() *command {
	return &command{
		name:    "init",
		usage:   "[flags]",
		summary: "write a commented nsgate.toml and CI files to start from",
		long: `
Looks at the repository: where it is hosted, what builds it, which programs use a GPU. Writes nsgate.toml with those
programs as workloads, and a GitHub workflow or a GitLab job where the repository is at home on one of them. Files
that exist are left alone.

Examples:

  nsgate init
  nsgate init --ci gitlab`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			ci := fs.String("ci", "auto", "CI files to write: auto, github, gitlab or none")
			return func(_ context.Context, e *env, args arguments) error {
				if len(args.own) > 0 {
					return usageError("init takes no arguments")
				}
				if !slices.Contains([]string{"auto", "github", "gitlab", "none"}, *ci) {
					return usageError("--ci: %q is none of auto, github, gitlab, none", *ci)
				}
				return initialize(e, *ci)
			}
		},
	}
}

// finds is what init saw in a repository.
type finds struct {
	github, gitlab bool
	build          string      // command that builds it, "" for none found
	workloads      []candidate // at most maxCandidates, likeliest first
}

// candidate is a program that may be worth measuring.
type candidate struct {
	name, command, why string
}

const maxCandidates = 5

func initialize(e *env, ci string) error {
	root := check.Repository()
	if root == "" {
		root = "."
	}
	found := look(os.DirFS(root))
	switch ci {
	case "auto":
		remote := check.Origin(root)
		found.github = found.github || hosted(remote, "github")
		found.gitlab = found.gitlab || hosted(remote, "gitlab")
	default:
		found.github, found.gitlab = ci == "github", ci == "gitlab"
	}
	files := []struct{ name, text string }{{policyFile, found.policy()}}
	if found.github {
		files = append(files, struct{ name, text string }{".github/workflows/nsgate.yml", found.workflow()})
	}
	if found.gitlab {
		files = append(files, struct{ name, text string }{".gitlab/nsgate.yml", found.job()})
	}
	wrote := map[string]bool{}
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		err := create(name, f.text)
		switch {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(e.Out, "kept   %s, which exists\n", f.name)
		case err != nil:
			return err
		default:
			fmt.Fprintf(e.Out, "wrote  %s\n", f.name)
			wrote[f.name] = true
		}
	}
	for _, c := range found.workloads {
		fmt.Fprintf(e.Out, "found  %s (%s)\n", c.command, c.why)
	}
	step := 0
	next := func(format string, args ...any) {
		step++
		fmt.Fprintf(e.Out, "  %d. %s\n", step, fmt.Sprintf(format, args...))
	}
	fmt.Fprint(e.Out, "\nNext:\n")
	if wrote[policyFile] {
		if len(found.workloads) > 0 {
			next("look at the workloads in %s: short and repeatable, fixed input, fixed number of steps", policyFile)
		} else {
			next("name your program in %s, under [[workload]]", policyFile)
		}
	}
	next("nsgate doctor     on the GPU machine: what is missing there")
	next("nsgate record     on the code to compare with; commit .nsgate")
	next("nsgate check      before a merge")
	switch {
	case found.github:
		next("set the runner's labels in .github/workflows/nsgate.yml and commit it")
	case found.gitlab:
		next("include .gitlab/nsgate.yml in .gitlab-ci.yml: include: [{local: .gitlab/nsgate.yml}]")
	default:
		next("nsgate init --ci github or gitlab writes a workflow or a job")
	}
	return nil
}

// hosted reports whether a remote's host is of this name: github.com, gitlab.example.org.
func hosted(remote, name string) bool {
	host := remote
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	if at := strings.Index(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	if end := strings.IndexAny(host, "/:"); end >= 0 {
		host = host[:end]
	}
	return slices.Contains(strings.Split(host, "."), name)
}

var (
	cmakeProgram = regexp.MustCompile(`(?i)\b(?:cuda_)?add_executable\s*\(\s*([A-Za-z0-9_.+-]+)\s`)
	makeProgram  = regexp.MustCompile(`(?m)^([A-Za-z0-9_.+/-]+)\s*:[^=].*\.(?:cu|o)\b`)
	mainFunction = regexp.MustCompile(`(?m)^\s*(?:int|auto)\s+main\s*\(`)
	gpuImport    = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(torch|jax|triton|cupy|numba\.cuda|tensorflow)\b`)
	pythonMain   = regexp.MustCompile(`(?m)^if __name__ == ['"]__main__['"]`)
)

// look finds the CI host, the build and what may be a workload. Of a large repository it sees the beginning.
func look(root fs.FS) *finds {
	found := &finds{}
	var compiled, python, sources []candidate
	files := 0
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && entry != nil && entry.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case entry.IsDir():
			switch name := entry.Name(); {
			case file == ".github":
				found.github = true
				return fs.SkipDir
			case file == ".gitlab":
				found.gitlab = true
				return fs.SkipDir
			case name != "." && strings.HasPrefix(name, "."), strings.Count(file, "/") > 4,
				slices.Contains([]string{"node_modules", "vendor", "third_party", "3rdparty", "external", "venv", "site-packages"}, name):
				return fs.SkipDir
			}
			return nil
		case file == ".gitlab-ci.yml":
			found.gitlab = true
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		if files++; files > 20_000 {
			return fs.SkipAll
		}
		if !plainPath.MatchString(file) { // it goes into a file and a shell
			return nil
		}
		dir, base, ext := path.Dir(file), path.Base(file), path.Ext(file)
		if !slices.Contains([]string{"CMakeLists.txt", "Makefile"}, base) && ext != ".cu" && ext != ".py" {
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > 1<<20 {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return nil
		}
		switch {
		case base == "CMakeLists.txt":
			if dir == "." {
				found.build = "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j"
			}
			if bytes.Contains(bytes.ToUpper(text), []byte("CUDA")) {
				for _, m := range cmakeProgram.FindAllSubmatch(text, -1) {
					compiled = append(compiled, newCandidate(path.Join("build", dir, string(m[1])), "a program of "+file))
				}
			}
		case base == "Makefile":
			if dir == "." && found.build == "" {
				found.build = "make -j"
			}
			if bytes.Contains(text, []byte("nvcc")) || bytes.Contains(text, []byte("NVCC")) {
				for _, m := range makeProgram.FindAllSubmatch(text, -1) {
					if target := string(m[1]); !strings.HasSuffix(target, ".o") && !strings.HasPrefix(target, ".") {
						compiled = append(compiled, newCandidate(path.Join(dir, target), "a target of "+file))
					}
				}
			}
		case ext == ".cu" && mainFunction.Match(text):
			sources = append(sources, newCandidate(strings.TrimSuffix(file, ext), file+" has a main function"))
		case ext == ".py" && !strings.HasPrefix(base, "test_") && pythonMain.Match(text):
			if m := gpuImport.FindSubmatch(text); m != nil {
				c := newCandidate(strings.TrimSuffix(file, ext), "imports "+string(m[1]))
				c.command = "python3 " + file
				python = append(python, c)
			}
		}
		return nil
	})
	if err != nil {
		return found
	}
	if len(compiled) == 0 {
		compiled = sources
	}
	names := make(map[string]bool)
	for _, c := range append(compiled, python...) {
		if len(found.workloads) < maxCandidates && !names[c.name] {
			names[c.name] = true
			found.workloads = append(found.workloads, c)
		}
	}
	// Benchmarks are made to be measured.
	slices.SortStableFunc(found.workloads, func(a, b candidate) int {
		bench := func(c candidate) int { return strings.Count(strings.ToLower(c.command), "bench") }
		return min(bench(b), 1) - min(bench(a), 1)
	})
	return found
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9._+/-]+$`)

var nameCharacters = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func newCandidate(program, why string) candidate {
	command := program
	if !strings.Contains(program, "/") {
		command = "./" + program
	}
	return candidate{nameCharacters.ReplaceAllString(path.Base(program), "-"), command, why}
}

// create writes a new file and fails where there is one.
func create(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// policy is nsgate.toml with the workloads that were found: the first to begin with, the others as comments.
func (f *finds) policy() string {
	var b strings.Builder
	b.WriteString(policyHead)
	writeKeys(&b, "", "", "# ")
	workloads := f.workloads
	if len(workloads) == 0 {
		workloads = []candidate{{"app", "./app --steps 60", "put your program here"}}
	}
	for i, c := range workloads {
		mark := ""
		if i > 0 {
			mark = "# "
		}
		fmt.Fprintf(&b, "\n%[1]s[[workload]]            # %[4]s\n%[1]sname = %[2]q\n%[1]scommand = %[3]q\n",
			mark, c.name, c.command, c.why)
		if i == 0 {
			b.WriteString(workloadKeys)
			writeKeys(&b, "workload", "", "# ")
		}
	}
	b.WriteString(rules)
	writeKeys(&b, "rule", "# ", "# ")
	b.WriteString(counterRules)
	return b.String()
}

// writeKeys writes the keys of a table, a comment behind each: behind literal those with their default, behind example
// those that have none, as an example.
func writeKeys(b *strings.Builder, table, literal, example string) {
	for _, k := range thresholds.Keys() {
		if k.Table != table || k.Name == "name" || k.Name == "command" {
			continue
		}
		setting := example + k.Name + " = " + k.Example
		if k.Literal() {
			setting = literal + k.Name + " = " + k.Default
		}
		fmt.Fprintf(b, "%-23s # %s\n", setting, k.Doc)
	}
}

const policyHead = `# What nsgate measures and what it allows. Every line can be left out: these are the defaults.
# "nsgate policy" checks this file and prints what it makes of it.

`

const workloadKeys = `# Short and repeatable: some seconds, fixed input, fixed number of steps.
`

const rules = `
# Rules are tried from top to bottom; the first that matches applies.
# [[rule]]
`

const counterRules = `#
# Counters of Nsight Compute, judged by nsgate check --profiler ncu:
# [[rule]]
# metric = "local_loads"
# at_most = "0"         # spilled registers and local arrays; also at_least = "70%" of dram_throughput
`

// workflow is a GitHub workflow that checks the first workload.
func (f *finds) workflow() string {
	build := "\n      # Build the workload here."
	if f.build != "" {
		build = "\n      - name: Build the workload\n        run: " + f.build
	}
	return fmt.Sprintf(workflowTemplate, build, f.first())
}

// job is a GitLab job that checks the first workload.
func (f *finds) job() string {
	build := "# build the workload here"
	if f.build != "" {
		build = "- " + f.build
	}
	return fmt.Sprintf(jobTemplate, build, f.first())
}

func (f *finds) first() string {
	if len(f.workloads) == 0 {
		return "app"
	}
	return f.workloads[0].name
}

const workflowTemplate = `# Judges what the GPU kernels of a change cost. It runs the change's code on your machine: on a public repository let
# it run only after a maintainer's approval (an environment with required reviewers).
name: nsgate
on:
  pull_request:
permissions:
  contents: read
jobs:
  gate:
    runs-on: [self-hosted, gpu]   # a machine with an NVIDIA GPU and nsys
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v6
        with:
          fetch-depth: 2          # with the target, so that edits of the baseline itself are seen
      - uses: actions/setup-go@v6 # builds nsgate; not needed with install-mode: none
        with:
          go-version: stable
          cache: false%s
      - id: gate
        uses: nsgate/nsgate@v1
        with:
          workload: %s
          report: |
            json=nsgate.json
            html=nsgate.html
          patch: nsgate-accept.patch
      - uses: actions/upload-artifact@v6
        if: always()
        with:
          name: nsgate
          path: |
            nsgate.json
            nsgate.html
            nsgate-accept.patch
          if-no-files-found: ignore
`

const jobTemplate = `# Judges what the GPU kernels of a change cost. Include this file in .gitlab-ci.yml:
#   include: [{local: .gitlab/nsgate.yml}]
nsgate:
  stage: test
  tags: [gpu]                     # a runner with an NVIDIA GPU, nsys and nsgate
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH   # merge requests are compared with its reports
  script:
    %s
    - >
      nsgate check --workload %s --patch nsgate-accept.patch
      --report json=nsgate.json --report html=nsgate.html --report junit=nsgate.xml
      --report codequality=nsgate-codequality.json --report openmetrics=nsgate-metrics.txt --report dotenv=nsgate.env
  allow_failure:
    exit_codes: [3]               # no verdict: amber, not red
  artifacts:
    when: always
    expire_in: 2 weeks
    paths: [nsgate.json, nsgate.html, nsgate-accept.patch]
    reports:
      junit: nsgate.xml
      codequality: nsgate-codequality.json
      metrics: nsgate-metrics.txt
      dotenv: nsgate.env
`
