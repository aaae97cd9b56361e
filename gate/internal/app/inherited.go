package app

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/run/host"
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

// variables are those of an environment, in lines NAME=VALUE, without those of [perJob] and names that are no
// identifiers, which dash does not pass on.
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
// [perJob], and what [proc.Inherited] gives.
func inherited() (map[string]string, error) {
	all := variables(os.Environ())
	more, err := proc.Inherited()
	if err != nil {
		return nil, fmt.Errorf("the limits of this process: %w", err)
	}
	maps.Copy(all, more)
	all["CPU limit of the control group"] = fmt.Sprint(host.Here().Limit())
	all["memory limit of the control group"] = strings.TrimSpace(input.System("/sys/fs/cgroup/memory.max"))
	return all, nil
}

// mostPrints bounds the names of settings in a baseline, in bytes; a longer list is left out.
const mostPrints = 16 << 10

// prints are the names of settings, each with 16 bits of the hash of its value: enough to say which of them changed,
// and too little to find a value by.
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

// changedPrints names the settings that differ between two lists of [prints], ": A, B", or "" where a list is not
// known.
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
	more := len(names) - most
	switch {
	case len(names) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf(": %s and %d more", strings.Join(names[:most], ", "), more)
	}
	return ": " + strings.Join(names, ", ")
}
