package cli

import (
	"slices"
	"testing"

	"github.com/nsgate/nsgate/thresholds"
)

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

// A command that init writes is the one that the policy reads back, or it is refused.
func TestNamedReadsBack(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	accepted := 0
	for _, word := range []string{"a\tb", "a\nb", "a\rb", "a\x1b[31mb", "a\x00b", "\xff", "\u2028", "\u202e", "#x",
		"::error::", "##[x", "é", "it's", "", "$HOME", "`id`", `a\b`, `a"b`, "a b", "*", "~", "\ufeff", "\x7f",
		"{run-dir}"} {
		for _, command := range [][]string{{"./app", word}, {"./app", "--x=" + word, "z"}} {
			c, err := named(root, command)
			if err != nil {
				continue
			}
			accepted++
			p, err := thresholds.Parse("nsgate.toml", []byte((&finds{workloads: []candidate{c}}).tables()))
			if err != nil || !slices.Equal(p.Workloads[0].Command, command) {
				t.Errorf("%q is read back as another: %v", command, err)
			}
		}
	}
	if accepted < 20 {
		t.Errorf("only %d commands were accepted", accepted)
	}
}
