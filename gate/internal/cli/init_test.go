package cli

import "testing"

func TestHosted(t *testing.T) {
	for remote, want := range map[string][2]bool{
		"git@github.com:team/app.git":               {true, false},
		"https://user:token@gitlab.example.org/a/b": {false, true},
		"ssh://git@gitlab.com:22/github/app.git":    {false, true},
		"https://example.org/github/app.git":        {false, false},
		"https://notgithub.com/app":                 {false, false},
		"":                                          {false, false},
		"/srv/git/github.git":                       {false, false},
	} {
		if got := [2]bool{hosted(remote, "github"), hosted(remote, "gitlab")}; got != want {
			t.Errorf("%q: %v", remote, got)
		}
	}
}
