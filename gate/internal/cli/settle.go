package cli

import (
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// limited are the flags that a number of runs replaces.
var limited = regexp.MustCompile(` --(runs|budget)[ =]\S+`)

// calls are the commands that settle what a check left undecided; line repeats the check, which measured the build of
// --base-cmd where command is true. They are nil for finished profiles.
func calls(line string, policy *thresholds.Policy, command bool) *result.Calls {
	const check = "nsgate check"
	rest, ok := strings.CutPrefix(line, check)
	if !ok || rest != "" && rest[0] != ' ' || strings.Contains(rest, " --from") {
		return nil
	}
	c := &result.Calls{Runs: check + " --runs " + result.RunsHere + limited.ReplaceAllString(rest, "")}
	if command {
		return c
	}
	c.Paired = check + " --paired" + strings.ReplaceAll(rest, " --paired", "")
	if policy.Base == "" && !strings.Contains(rest, " --base-ref") {
		c.Needs = `base = "origin/main" and build = "make" (yours) in nsgate.toml`
	}
	return c
}
