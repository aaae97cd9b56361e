package cli

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// finds is what init saw in a repository.
type finds struct {
	github, gitlab bool
	pipeline       bool        // there is a .gitlab-ci.yml, and it does not include nsgate's job
	workloads      []candidate // programs that are there, at most maxCandidates
}

// candidate is a program that uses a GPU.
type candidate struct{ name, command, why string }

const maxCandidates = 5

// hosted reports whether a remote's host is of this name: github.com, gitlab.example.org.
func hosted(remote, name string) bool {
	host := regexp.MustCompile(`^(?:[^:]*://)?(?:[^@]*@)?([^/:]*)`).FindStringSubmatch(remote)[1]
	return slices.Contains(strings.Split(host, "."), name)
}

// strangers are directories of other people's code.
var strangers = []string{"node_modules", "vendor", "third_party", "3rdparty", "external", "venv", "site-packages"}

// search looks for programs. Its expressions are compiled once, for init alone.
type search struct {
	*finds
	root                                                 fs.FS
	plainPath, gpuImport, mainGuard, mainName, otherName *regexp.Regexp
}

// look finds the CI host and the programs that use a GPU for certain: executables with device code, and Python programs that import a
// GPU library and have a main guard or the name of a program (train.py). It sees at most the first 20,000 files.
func look(root fs.FS) *finds {
	s := search{
		finds: &finds{}, root: root,
		plainPath: regexp.MustCompile(`^[A-Za-z0-9._+/-]+$`), // it goes into a file and a shell
		gpuImport: regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(torch|jax|triton|cupy|numba\.cuda|tensorflow)\b`),
		mainGuard: regexp.MustCompile(`(?m)^if __name__ == ['"]__main__['"]`),
		mainName:  regexp.MustCompile(`^(?:train|bench|benchmark|infer|inference|main|run)(?:_\w+)?\.py$`),
		otherName: regexp.MustCompile(`[^A-Za-z0-9._-]+`),
	}
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
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && s.plainPath.MatchString(file) {
			s.program(file, info)
		}
		return nil
	})
	// Benchmarks first: they are made to be measured.
	slices.SortStableFunc(s.workloads, func(a, b candidate) int {
		bench := func(c candidate) int { return min(strings.Count(strings.ToLower(c.command), "bench"), 1) }
		return bench(b) - bench(a)
	})
	s.workloads = s.workloads[:min(len(s.workloads), maxCandidates)]
	return s.finds
}

// directory skips directories that are hidden, deep, or other people's.
func (s *search) directory(dir string) error {
	s.github = s.github || dir == ".github"
	s.gitlab = s.gitlab || dir == ".gitlab"
	base := path.Base(dir)
	if dir != "." && strings.HasPrefix(base, ".") || strings.Count(dir, "/") > 4 || slices.Contains(strangers, base) {
		return fs.SkipDir
	}
	return nil
}

// program adds a file that is a program of a GPU.
func (s *search) program(file string, info fs.FileInfo) {
	switch {
	case path.Ext(file) == ".py" && !strings.HasPrefix(path.Base(file), "test_") && info.Size() < 1<<20:
		text, _ := fs.ReadFile(s.root, file)
		if m := s.gpuImport.FindSubmatch(text); m != nil && (s.mainGuard.Match(text) || s.mainName.MatchString(path.Base(file))) {
			s.add(strings.TrimSuffix(file, ".py"), s.python(file), "imports "+string(m[1]))
		}
	case info.Mode()&0o111 != 0 && info.Size() > 64 && s.device(file):
		command := file
		if !strings.Contains(file, "/") {
			command = "./" + file
		}
		s.add(file, command, "has device code")
	}
}

// python is how a Python program is run: as a module where it lies in a package.
func (s *search) python(file string) string {
	if _, err := fs.Stat(s.root, path.Join(path.Dir(file), "__init__.py")); err != nil {
		return "python3 " + file
	}
	return "python3 -m " + strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
}

// device reports whether a file is an executable with device code.
func (s *search) device(file string) bool {
	f, err := s.root.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	at, ok := f.(interface {
		ReadAt(p []byte, off int64) (int, error)
	})
	if !ok {
		return false
	}
	program, err := elf.NewFile(at)
	return err == nil && program.Section(".nv_fatbin") != nil && (program.Type == elf.ET_EXEC || program.Section(".interp") != nil)
}

// add notes a program under a name that no other has.
func (s *search) add(file, command, why string) {
	name := s.otherName.ReplaceAllString(path.Base(file), "-")
	if !slices.ContainsFunc(s.workloads, func(c candidate) bool { return c.name == name }) {
		s.workloads = append(s.workloads, candidate{name, command, why})
	}
}
