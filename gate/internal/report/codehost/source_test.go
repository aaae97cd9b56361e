package codehost

import "testing"

// Links to commits and lines need a known CI host or git remote.
func TestSource(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		source Source
		want   string
	}{
		{Source{URL: "https://github.com/o/n"}, "https://github.com/o/n/blob/" + id + "/src/a%20b.cu#L7"},
		{Source{URL: "https://gitlab.example.org/g/n", GitLab: true},
			"https://gitlab.example.org/g/n/-/blob/" + id + "/src/a%20b.cu#L7"},
		{SourceOf("git@github.com:o/n.git"), "https://github.com/o/n/blob/" + id + "/src/a%20b.cu#L7"},
		{SourceOf("https://user:secret@gitlab.com/o/n.git"),
			"https://gitlab.com/o/n/-/blob/" + id + "/src/a%20b.cu#L7"},
		{SourceOf("/srv/git/n.git"), ""}, {SourceOf("ssh://example.org/n"), ""},
		{Source{URL: "javascript:alert(1)"}, ""}, {Source{}, ""},
	} {
		if got := c.source.File(id, "src/a b.cu", 7); got != c.want {
			t.Errorf("%+v: %q, want %q", c.source, got, c.want)
		}
		if got := c.source.Commit("HEAD\" onclick"); got != "" {
			t.Errorf("%+v leads to %q", c.source, got)
		}
	}
}
