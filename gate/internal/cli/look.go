package cli

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// finds is what init saw in a repository.
type finds struct {
	github, gitlab bool
	pipeline       bool        // there is a .gitlab-ci.yml, and it does not include nsgate's job
	Build          string      // command that builds it, "" for none found
	Workloads      []candidate // at most maxCandidates, likeliest first
}

// candidate is a program that may be worth measuring.
type candidate struct{ Name, Command, Why string }

const maxCandidates = 5

// hosted reports whether a remote's host is of this name: github.com, gitlab.example.org.
func hosted(remote, name string) bool {
	host := hostOf().FindStringSubmatch(remote)[1]
	return slices.Contains(strings.Split(host, "."), name)
}

// expression is a regular expression that is compiled when it is first asked for: other commands do without.
func expression(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	hostOf         = expression(`^(?:[^:]*://)?(?:[^@]*@)?([^/:]*)`)
	cmakeProgram   = expression(`(?i)\b(?:cuda_)?add_executable\s*\(\s*([A-Za-z0-9_.+-]+)\s`)
	makeProgram    = expression(`(?m)^([A-Za-z0-9_+/-][A-Za-z0-9_.+/-]*)\s*:[^=].*\.(?:cu|o)\b`)
	mainFunction   = expression(`(?m)^\s*(?:int|auto)\s+main\s*\(`)
	gpuImport      = expression(`(?m)^\s*(?:import|from)\s+(torch|jax|triton|cupy|numba\.cuda|tensorflow)\b`)
	pythonMain     = expression(`(?m)^if __name__ == ['"]__main__['"]`)
	pythonName     = expression(`^(?:train|bench|benchmark|infer|inference|main|run)(?:_\w+)?\.py$`)
	pythonScripts  = expression(`(?ms)^\[(?:project|tool\.poetry)\.scripts\]\s*$(.*?)(?:^\[|\z)`)
	pythonScript   = expression(`(?m)^\s*"?([A-Za-z0-9._-]+)"?\s*=\s*"`)
	gpuDependency  = expression(`["'](torch|jax|triton|cupy|numba|tensorflow)\b`)
	benchTarget    = expression(`(?m)^(bench|benchmark|perf)\s*:(?:[^=]|$)`)
	plainPath      = expression(`^[A-Za-z0-9._+/-]+$`) // it goes into a file and a shell
	nameCharacters = expression(`[^A-Za-z0-9._-]+`)
)

// strangers are directories of other people's code.
var strangers = []string{"node_modules", "vendor", "third_party", "3rdparty", "external", "venv", "site-packages"}

// look finds the CI host, the build and what may be a workload. Of a large repository it sees the beginning.
func look(root fs.FS) *finds {
	s := search{root: root, finds: &finds{}}
	files := 0
	fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.IsDir():
			return s.directory(file)
		case file == ".gitlab-ci.yml":
			text, _ := fs.ReadFile(root, file)
			s.gitlab, s.pipeline = true, !bytes.Contains(text, []byte(".gitlab/nsgate.yml"))
		}
		if files++; files > 20_000 {
			return fs.SkipAll
		}
		if s.read(file) == nil || !plainPath().MatchString(file) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return nil
		}
		if text, err := fs.ReadFile(root, file); err == nil {
			s.read(file)(file, text)
		}
		return nil
	})
	s.Build = cmp.Or(s.cmake, s.make, s.pip)
	s.Workloads = s.likeliest()
	return s.finds
}

// search is what is known on the way.
type search struct {
	*finds
	root                       fs.FS
	cmake, make, pip           string // what builds the repository, "" for nothing of the kind
	compiled, sources, scripts []candidate
}

// directory skips what is hidden, deep, or other people's.
func (s *search) directory(dir string) error {
	s.github = s.github || dir == ".github"
	s.gitlab = s.gitlab || dir == ".gitlab"
	base := path.Base(dir)
	if dir != "." && strings.HasPrefix(base, ".") || strings.Count(dir, "/") > 4 || slices.Contains(strangers, base) {
		return fs.SkipDir
	}
	return nil
}

// read is what looks into a file, nil where its name promises nothing.
func (s *search) read(file string) func(file string, text []byte) {
	switch base, ext := path.Base(file), path.Ext(file); {
	case base == "CMakeLists.txt":
		return s.inCMake
	case base == "Makefile":
		return s.inMake
	case base == "pyproject.toml", file == "requirements.txt":
		return s.inProject
	case ext == ".cu":
		return s.inCUDA
	case ext == ".py" && !strings.HasPrefix(base, "test_"):
		return s.inPython
	}
	return nil
}

func (s *search) inCMake(file string, text []byte) {
	if file == "CMakeLists.txt" {
		s.cmake = "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j"
	}
	if bytes.Contains(bytes.ToUpper(text), []byte("CUDA")) {
		for _, m := range cmakeProgram().FindAllSubmatch(text, -1) {
			s.compiled = append(s.compiled, newCandidate(path.Join("build", path.Dir(file), string(m[1])), "a program of "+file))
		}
	}
}

func (s *search) inMake(file string, text []byte) {
	if file == "Makefile" {
		s.make = "make -j"
	}
	if !bytes.Contains(bytes.ToUpper(text), []byte("NVCC")) {
		return
	}
	if m := benchTarget().FindSubmatch(text); m != nil {
		c := newCandidate(string(m[1]), "a target of "+file)
		c.Command = "make " + string(m[1])
		if dir := path.Dir(file); dir != "." {
			c.Command = "make -C " + dir + " " + string(m[1])
		}
		s.scripts = append(s.scripts, c)
	}
	for _, m := range makeProgram().FindAllSubmatch(text, -1) {
		if target := string(m[1]); !strings.HasSuffix(target, ".o") {
			s.compiled = append(s.compiled, newCandidate(path.Join(path.Dir(file), target), "a target of "+file))
		}
	}
}

func (s *search) inProject(file string, text []byte) {
	switch file {
	case "requirements.txt":
		s.pip = cmp.Or(s.pip, "python3 -m pip install -r requirements.txt")
	case "pyproject.toml":
		s.pip = "python3 -m pip install ."
	}
	section := pythonScripts().FindSubmatch(text)
	if section == nil || !gpuDependency().Match(text) {
		return
	}
	for _, m := range pythonScript().FindAllSubmatch(section[1], -1) {
		name := string(m[1])
		s.scripts = append(s.scripts, candidate{name, name, "a script of " + file})
	}
}

func (s *search) inCUDA(file string, text []byte) {
	if mainFunction().Match(text) {
		s.sources = append(s.sources, newCandidate(strings.TrimSuffix(file, ".cu"), file+" has a main function"))
	}
}

func (s *search) inPython(file string, text []byte) {
	m := gpuImport().FindSubmatch(text)
	if m == nil || !pythonMain().Match(text) && !pythonName().MatchString(path.Base(file)) {
		return
	}
	c := newCandidate(strings.TrimSuffix(file, ".py"), "imports "+string(m[1]))
	c.Command = "python3 " + file
	s.scripts = append(s.scripts, c)
}

// likeliest sorts the candidates: what is built for a GPU, then scripts, and before all of them benchmarks, which are made
// to be measured.
func (s *search) likeliest() (out []candidate) {
	if len(s.compiled) == 0 {
		s.compiled = s.sources
	}
	names := make(map[string]bool)
	for _, c := range append(s.compiled, s.scripts...) {
		if !names[c.Name] {
			names[c.Name] = true
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		bench := func(c candidate) int { return strings.Count(strings.ToLower(c.Command), "bench") }
		return min(bench(b), 1) - min(bench(a), 1)
	})
	return out[:min(len(out), maxCandidates)]
}

func newCandidate(program, why string) candidate {
	command := program
	if !strings.Contains(program, "/") {
		command = "./" + program
	}
	return candidate{nameCharacters().ReplaceAllString(path.Base(program), "-"), command, why}
}
