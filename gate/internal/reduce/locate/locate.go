// Package locate finds the definition of a kernel in a repository.
package locate

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Limits of the search for kernels.
const (
	maxFiles    = 20_000  // source files; in a larger repository nothing is found
	maxFileSize = 2 << 20 // bytes; larger files are generated
)

// Kernels finds the definition of a kernel by its short name: a __global__ function of C++ or a function under a Triton
// or Numba decorator. ok is true if there is exactly one definition, or none and one declaration. file is relative to
// root. The repository is searched once, at the first call.
func Kernels(root fs.FS) func(kernel string) (file string, line int, ok bool) {
	search := sync.OnceValue(func() definitions { return find(root) })
	return func(kernel string) (string, int, bool) { return search().locate(kernel) }
}

type place struct {
	file    string
	line    int
	defined bool // with its body, not only declared
}

type definitions map[string][]place

// variant is the suffix of a compiled variant of a function, by Triton ("_0d1d2de") or Numba ("$12").
var variant = input.Pattern(`(_0\d*[cde][\dcde]*|\$\d+)$`)

func (d definitions) locate(kernel string) (file string, line int, ok bool) {
	places, known := d[kernel]
	if !known {
		places = d[variant().ReplaceAllString(kernel, "")]
	}
	if bodies := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !p.defined }); len(bodies) > 0 {
		places = bodies
	}
	if len(places) != 1 {
		return "", 0, false
	}
	return places[0].file, places[0].line, true
}

// languages are the searches of files by suffix.
var languages = map[string]func([]byte, func(name string, line int, defined bool)){
	".cu": cuda, ".cuh": cuda, ".h": cuda, ".hh": cuda, ".hpp": cuda, ".hxx": cuda, ".cpp": cuda, ".cc": cuda,
	".cxx": cuda, ".inl": cuda, ".inc": cuda, ".ipp": cuda, ".tpp": cuda, ".hip": cuda, ".py": python,
}

// elsewhere are directories of generated or foreign code.
var elsewhere = map[string]bool{
	"node_modules": true, "vendor": true, "third_party": true, "3rdparty": true, "external": true, "build": true,
	"dist": true, "out": true, "target": true, "venv": true, "__pycache__": true, "site-packages": true,
}

// find searches a repository for all kernels. Unreadable files are left out.
func find(root fs.FS) definitions {
	found, files := make(definitions), 0
	_ = fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && entry != nil && entry.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case entry.IsDir():
			name := entry.Name()
			hidden := strings.HasPrefix(name, ".") && name != "."
			if hidden || elsewhere[name] || strings.HasPrefix(name, "cmake-build") ||
				strings.HasPrefix(name, "bazel-") {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular(): // symbolic links above all
			return nil
		}
		search := languages[strings.ToLower(path.Ext(file))]
		if search == nil {
			return nil
		}
		if files++; files > maxFiles {
			clear(found)
			return fs.SkipAll
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxFileSize {
			return nil
		}
		source, err := fs.ReadFile(root, file)
		if err != nil || len(source) > maxFileSize {
			return nil
		}
		search(source, func(name string, line int, defined bool) {
			found[name] = append(found[name], place{file, line, defined})
		})
		return nil
	})
	return found
}
