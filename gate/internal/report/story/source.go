package story

import "github.com/nsgate/nsgate/gate/internal/result"

// Locator finds the definition of a finding's kernel in a repository; file is relative to its root.
type Locator func(f result.Finding) (file string, line int, ok bool)

// Link is the address of a line of the head's source on the CI host, "" where that is unknown.
func (v *Story) Link(file string, line int) string {
	return v.Source.File(v.Report.Head.Commit, relative(file), line)
}
