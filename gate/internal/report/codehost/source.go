package codehost

import (
	"fmt"
	"net/url"
	"strings"
)

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

// Commit and File are links to a commit, and to a line of a file below the repository's root; "" where they are
// unknown.
func (s Source) Commit(id string) string {
	if !isCommit(id) {
		return ""
	}
	return s.link("commit", id)
}

func (s Source) File(commit, file string, line int) string {
	link := s.link("blob", commit, file)
	if link == "" || file == "" || !isCommit(commit) {
		return ""
	}
	return fmt.Sprintf("%s#L%d", link, line)
}

func isCommit(id string) bool {
	return len(id) >= 7 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}
