package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// finds are the CI files and programs that init found in a repository.
type finds struct {
	github, gitlab bool
	pipeline       bool        // there is a .gitlab-ci.yml, and it does not include nsgate's job
	workloads      []candidate // programs that are there, at most maxCandidates
	outputs        []measure.Output
}

// candidate is a program to measure; dir is its directory below the root, "" for the root.
type candidate struct{ name, command, dir, why string }

// noName matches what a workload's name cannot hold.
var noName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

const maxCandidates = 5

// hosted reports whether a remote's host is of this name: github.com, gitlab.example.org.
func hosted(remote, name string) bool {
	host := regexp.MustCompile(`^(?:[^:]*://)?(?:[^@]*@)?([^/:]*)`).FindStringSubmatch(remote)[1]
	return slices.Contains(strings.Split(host, "."), name)
}

// thirdParty are directories of other people's code.
var thirdParty = []string{"node_modules", "vendor", "third_party", "3rdparty", "external", "venv", "site-packages"}

// look finds the CI host, and the programs below root that use a GPU for certain: executables with device code, and Python programs
// that import a GPU library and have a main guard or the name of a program (train.py). It sees at most the first 20,000 files.
func look(root string) *finds {
	found := &finds{}
	plainPath := regexp.MustCompile(`^[A-Za-z0-9._+/-]+$`) // it goes into a file and a shell
	files := 0
	filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		file, _ := filepath.Rel(root, at)
		file = filepath.ToSlash(file)
		switch base := path.Base(file); {
		case err != nil:
			return nil
		case entry.IsDir():
			found.github = found.github || file == ".github"
			found.gitlab = found.gitlab || file == ".gitlab"
			if base != "." && strings.HasPrefix(base, ".") || strings.Count(file, "/") > 4 || slices.Contains(thirdParty, base) {
				return fs.SkipDir
			}
			return nil
		case file == ".gitlab-ci.yml":
			text, _ := input.Read(at, 1<<20)
			found.gitlab, found.pipeline = true, !bytes.Contains(text, []byte(".gitlab/nsgate.yml"))
		}
		if files++; files > 20_000 || len(found.workloads) == maxCandidates {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && plainPath.MatchString(file) {
			found.program(root, file, info)
		}
		return nil
	})
	return found
}

// program adds a file that is a program of a GPU, under a name that no other has.
func (f *finds) program(root, file string, info fs.FileInfo) {
	c := candidate{name: noName.ReplaceAllString(strings.TrimSuffix(path.Base(file), ".py"), "-")}
	switch {
	case path.Ext(file) == ".py" && !strings.HasPrefix(path.Base(file), "test_") && info.Size() < 1<<20:
		text, _ := input.Read(filepath.Join(root, file), 1<<20)
		library := gpuImport.FindSubmatch(text)
		if library == nil || !mainGuard.Match(text) && !mainName.MatchString(path.Base(file)) {
			return
		}
		c.why, c.command = "imports "+string(library[1]), "python3 "+file
		if _, err := os.Stat(filepath.Join(root, path.Dir(file), "__init__.py")); err == nil { // a module of a package
			c.command = "python3 -m " + strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
		}
	case info.Mode()&0o111 != 0 && !strings.Contains(path.Base(file), ".so") && app.HoldsDeviceCode(filepath.Join(root, file)):
		c.why, c.command = "has device code", file
		if !strings.Contains(file, "/") {
			c.command = "./" + file
		}
	default:
		return
	}
	if !slices.ContainsFunc(f.workloads, func(other candidate) bool { return other.name == c.name }) {
		f.workloads = append(f.workloads, c)
	}
}

var (
	gpuImport = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(torch|jax|triton|cupy|numba\.cuda|tensorflow)\b`)
	mainGuard = regexp.MustCompile(`(?m)^if __name__ == ['"]__main__['"]`)
	mainName  = regexp.MustCompile(`^(?:train|bench|benchmark|infer|inference|main|run)(?:_\w+)?\.py$`)
)
