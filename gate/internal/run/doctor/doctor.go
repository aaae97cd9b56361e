// Package doctor holds the observations of an examination of this machine, and the files and rights that a process
// sees.
package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Mark is the meaning of an observation.
type Mark string

// The three marks: well, worth knowing, and in the way of measuring.
const (
	Good Mark = "good"
	Note Mark = "note"
	Bad  Mark = "bad"
)

// Observation is one thing that was looked at.
type Observation struct {
	Mark   Mark   `json:"mark"`
	What   string `json:"what"`   // "driver", "GPU 0 clock"
	Detail string `json:"detail"` // how it is, and what to do about it
	// Do are commands for a shell that do it, in this order.
	Do []string `json:"do,omitempty"`
	// Kind is the refusal of a measurement in this state, "" for none.
	Kind model.Kind `json:"-"`
}

// Observations are those of an examination, in the order in which they are printed.
type Observations []Observation

// Add appends an observation, with the commands that mend it.
func (o *Observations) Add(mark Mark, what, detail string, do ...string) {
	*o = append(*o, Observation{Mark: mark, What: what, Detail: detail, Do: do})
}

// System is the file system of a machine below a directory.
type System struct{ Root string }

// Here is the system of this process.
var Here = System{"/"}

// Read is the content of a file of the system, "" where it cannot be read.
func (s System) Read(name string) string { return input.System(filepath.Join(s.Root, name)) }

// Find lists the files that a pattern names, see [input.Search.Paths].
func (s System) Find(pattern string) []string {
	found, _ := new(input.Search).Paths(s.Root, pattern)
	return found
}

// Administers reports whether this process has CAP_SYS_ADMIN.
func (s System) Administers() bool {
	m := regexp.MustCompile(`(?m)^CapEff:\s*([0-9a-f]+)$`).FindStringSubmatch(s.Read("proc/self/status"))
	if m == nil {
		return false
	}
	const sysAdmin = 21
	set, err := strconv.ParseUint(m[1], 16, 64)
	return err == nil && set&(1<<sysAdmin) != 0
}

// Container reports whether this process runs in a container.
func (s System) Container() bool {
	signs := []string{".dockerenv", "run/.containerenv", "run/secrets/kubernetes.io"}
	return slices.ContainsFunc(signs, func(name string) bool {
		_, err := os.Stat(filepath.Join(s.Root, name))
		return err == nil
	})
}
