package app

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/host"
	"github.com/nsgate/nsgate/thresholds"
)

//go:embed perjob.txt
var perJobList string

// perJob reports whether NAME=VALUE is a variable that CI hosts, schedulers and shells change from job to job.
func perJob(variable string) bool {
	named := func(entry string) bool {
		if start, ok := strings.CutSuffix(entry, "*"); ok {
			return strings.HasPrefix(variable, start)
		}
		return strings.HasPrefix(variable, entry+"=")
	}
	changes := false
	for entry := range strings.FieldsFuncSeq(perJobList, func(c rune) bool { return c == '\n' }) {
		if counts, ok := strings.CutPrefix(entry, "!"); ok && named(counts) {
			return false
		}
		changes = changes || named(entry)
	}
	return changes
}

// variables are those of an environment (NAME=VALUE) without [perJob] and names that dash does not pass on.
func variables(environment []string) map[string]string {
	out := map[string]string{}
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		if strings.ContainsFunc(name, func(c rune) bool { return c == '_' || unicode.IsLetter(c) }) && !perJob(v) {
			out[name] = value
		}
	}
	return out
}

// inherited are the settings that a program inherits from this process, by name: its variables without those of
// [perJob], what [proc.Inherited] gives, and the limits of its control groups.
func inherited() (map[string]string, error) {
	all := variables(os.Environ())
	more, err := proc.Inherited()
	if err != nil {
		return nil, fmt.Errorf("the limits of this process: %w", err)
	}
	maps.Copy(all, more)
	maps.Copy(all, host.Here().Limits())
	all["CPU limit of the control group"] = fmt.Sprint(host.Here().Limit())
	return all, nil
}

// mostPrints bounds the names of settings in a baseline, in bytes; a longer list is left out.
const mostPrints = 16 << 10

// prints are names of settings with 16 bits of the hash of each value: they tell what changed, and no value.
func prints(of map[string]string) string {
	list := url.Values{}
	for name, value := range of {
		sum := sha256.Sum256([]byte(name + "=" + value))
		list.Set(name, hex.EncodeToString(sum[:2]))
	}
	if text := list.Encode(); len(text) <= mostPrints {
		return text
	}
	return ""
}

// changedPrints names the settings that differ between two lists of [prints], ": A, B"; "" where one is not known.
func changedPrints(a, b string) string {
	base, err1 := url.ParseQuery(a)
	head, err2 := url.ParseQuery(b)
	if err1 != nil || err2 != nil || a == "" || b == "" {
		return ""
	}
	all := maps.Clone(base)
	maps.Copy(all, head)
	names := slices.Sorted(maps.Keys(all))
	names = slices.DeleteFunc(names, func(n string) bool { return base.Get(n) == head.Get(n) })
	const most = 5
	shown := strings.Join(names[:min(len(names), most)], ", ")
	more := measure.Either(len(names) > most, fmt.Sprintf(" and %d more", len(names)-most), "")
	return result.Given(shown, ": ", shown, more)
}

// Inputs are the files that a program is made of or reads, and the settings of its measurement.
type Inputs struct {
	Patterns  []string // relative to the directory of the workload
	hashed    string   // both hashes before the measurement, "" where a file could not be read
	setup     string
	files     int
	inherited string // that of [model.Session]
}

// Begin hashes the files in dir and the settings before the measurement. The settings are a workload and more.
func (in *Inputs) Begin(dir string, w thresholds.Workload, more any) error {
	w.Runs, w.Budget, w.ExplainTime, w.Timeout, w.Threshold, w.SkipUnchanged = thresholds.Runs{}, 0, 0, 0, nil, false
	w.Where, w.Places = "", nil
	if w.Launcher != nil || w.Gather != "" {
		return errors.New("a launcher may start processes on other hosts")
	}
	set, err := inherited()
	if err != nil {
		return err
	}
	command, err := json.Marshal([]any{w, more})
	if err != nil {
		return err
	}
	words := strings.Join(w.Command, " ")
	if w.Server != nil {
		words += " " + strings.Join(w.Server.Command, " ")
	}
	command = append(command, filesOf(dir, words, true, set)...)
	if len(set) >= mostSettings {
		return errors.New("scripts of the command name too many files")
	}
	if err := in.mentioned(dir, command, set); err != nil {
		return err
	}
	in.inherited = prints(set)
	text, err := json.Marshal([]any{w, more, set})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	in.setup = hex.EncodeToString(sum[:])
	in.hashed, err = in.hash(dir)
	return err
}

func (in *Inputs) hash(dir string) (string, error) {
	all := sha256.New()
	in.files = 0
	err := in.each(dir, func(pattern, file string) error {
		f, err := input.Open(file)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		sum, wrong := input.Hash(f, err)
		if wrong != nil {
			return wrong
		}
		name, outside := filepath.Rel(dir, file)
		if outside != nil {
			name = file
		}
		fmt.Fprintf(all, "%q %q %x %v\n", pattern, filepath.ToSlash(name), sum, info.Mode()&0o111 != 0)
		in.files++
		return nil
	})
	return hex.EncodeToString(all.Sum(nil)) + " " + in.setup, err
}

// each calls a function for every input file, until it returns an error.
func (in *Inputs) each(dir string, do func(pattern, file string) error) error {
	for _, pattern := range in.Patterns {
		files, err := devicecode.Files(dir, pattern)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("%s: there is no such file; build it first, or correct the path", pattern)
		}
		for _, file := range files {
			err = cmp.Or(err, do(pattern, file))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostSearched is how much of an input is searched for names of variables.
const mostSearched = 64 << 20

// mentioned adds to settings the variables of a job that the command or an input names: by these the program may run.
// A name of one word, such as LINES, counts behind a NUL, or a sign that programs and shells name variables with.
func (in *Inputs) mentioned(dir string, command []byte, to map[string]string) error {
	of := map[string]*regexp.Regexp{}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		sign := measure.Either(strings.Contains(strings.Trim(name, "_"), "_"), `\b`, `["'${\x00]`)
		if perJob(v) && name != "_" {
			of[name] = regexp.MustCompile(sign + regexp.QuoteMeta(name) + `\b`)
		}
	}
	find := func(text []byte) {
		for name, word := range of {
			if bytes.Contains(text, []byte(name)) && word.Match(text) {
				to[name] = os.Getenv(name)
				delete(of, name)
			}
		}
	}
	find(command)
	return in.each(dir, func(_, file string) error {
		f, err := input.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := input.All(io.LimitReader(f, mostSearched), mostSearched)
		find(text)
		return err
	})
}

// mostSettings bounds the variables and files that are compared.
const mostSettings = 2000

// filesOf adds to settings, up to [mostSettings], the hashes of files that a command names, and of programs and scripts
// that scripts among them name. It returns the text of all.
func filesOf(dir, text string, command bool, to map[string]string) string {
	all := text
	separates := func(c rune) bool { return strings.ContainsRune(" \t\n='\"`;&|()<>{}$,", c) }
	for _, name := range slices.Compact(slices.Sorted(strings.FieldsFuncSeq(text, separates))) {
		onPath, _ := exec.LookPath(name)
		files, key := []string{onPath, name, filepath.Join(dir, name)}, "file "+name
		if filepath.IsAbs(name) { // a baseline holds no path of this machine
			key = "file …/" + filepath.Base(name)
		}
		for _, file := range files {
			sum, script := fileOf(file, command)
			if sum != "" && !strings.Contains(to[key], sum) && len(to) < mostSettings {
				to[key] += sum
				all += "\n" + filesOf(dir, script, false, to)
			}
		}
	}
	return all
}

// fileOf is the hash of a file, a large one by its begin, size and time, and the begin of a script; "" for none. A
// script may write its data files: of the files that it names, only programs and scripts count.
func fileOf(file string, data bool) (sum, script string) {
	f, err := input.Open(file)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	text, _ := input.All(io.LimitReader(f, mostSearched), mostSearched)
	if bytes.HasPrefix(text, []byte("#!")) || slices.Contains([]string{".sh", ".py"}, filepath.Ext(file)) {
		script = string(text[:min(len(text), mostSearched>>10)])
	}
	info, err := f.Stat()
	if err != nil || !data && script == "" && info.Mode()&0o111 == 0 {
		return "", ""
	}
	if len(text) == mostSearched {
		text = fmt.Append(text, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), script
}

// stored are the hashes for a baseline: "" where the files changed since [Inputs.Begin], or cannot be read.
func (in Inputs) stored(dir string) string {
	if in.hashed == "" {
		return ""
	}
	if now, err := in.hash(dir); err != nil || now != in.hashed {
		return ""
	}
	return in.hashed
}
