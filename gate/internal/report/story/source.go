package story

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/locate"
	"github.com/nsgate/nsgate/gate/internal/measure"
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

// Source is the address of the repository on a CI host. The zero value gives no links.
type Source struct {
	URL    string // "https://github.com/owner/name"
	GitLab bool   // else its pages lie as those of GitHub do
}

// SourceOf is the Source of a git remote on GitHub or GitLab, the zero value for any other.
func SourceOf(remote string) Source {
	if user, rest, ok := strings.Cut(remote, "@"); ok && !strings.Contains(user, "/") { // git@host:owner/name
		remote = "https://" + strings.Replace(rest, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(remote, ".git"))
	if err != nil {
		return Source{}
	}
	gitlab := strings.Contains(u.Host, "gitlab")
	if !gitlab && u.Host != "github.com" {
		return Source{}
	}
	u.Scheme, u.User = "https", nil
	return Source{u.String(), gitlab}
}

func (s Source) link(parts ...string) string {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return ""
	}
	if s.GitLab {
		parts = append([]string{"-"}, parts...)
	}
	return u.JoinPath(parts...).String()
}

// Commit and file are links to a commit and to a line in it, "" where they are unknown.
func (s Source) Commit(id string) string {
	if !isCommit(id) {
		return ""
	}
	return s.link("commit", id)
}

func (s Source) File(commit, file string, line int) string {
	if file = relative(file); file == "" || !isCommit(commit) {
		return ""
	}
	link := s.link("blob", commit, file)
	return Wrapped("", link, fmt.Sprintf("#L%d", line))
}

func isCommit(id string) bool {
	return len(id) >= 7 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}
