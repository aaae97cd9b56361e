package story

import (
	"io/fs"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/reduce/locate"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Locator finds the definition of a finding's kernel in a repository; file is relative to its root.
type Locator func(f result.Finding) (file string, line int, ok bool)

// NewLocator is the Locator of a repository, which is searched once, for the first finding.
func NewLocator(root fs.FS) Locator {
	definition := locate.Kernels(root)
	return func(f result.Finding) (string, int, bool) {
		if f.Scope != measure.ScopeKernel {
			return "", 0, false
		}
		return definition(f.Kernel)
	}
}

// Link is the address of a line of the head's source on the CI host, "" where that is unknown.
func (v *Story) Link(file string, line int) string {
	return v.Source.File(v.Report.Head.Commit, relative(file), line)
}
