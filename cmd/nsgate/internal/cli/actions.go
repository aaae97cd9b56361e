package cli

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"

	"github.com/nsgate/nsgate/gate/report"
	"github.com/nsgate/nsgate/gate/report/github"
)

// stopCommands keeps GitHub from taking commands out of what is printed until the returned function is called.
func stopCommands(e *env) (resume func()) {
	if e.getenv("GITHUB_ACTIONS") != "true" {
		return func() {}
	}
	token := rand.Text()
	fmt.Fprintf(e.Err, "::stop-commands::%s\n", token)
	return func() { fmt.Fprintf(e.Err, "::%s::\n", token) }
}

// place is a file of the repository with a line, at the head of an error.
var place = regexp.MustCompile(`^(?:\S+: )?([^\s:]+\.(?:toml|csv|json)):(\d+): `)

// complain says on standard error why there is nothing to judge, and on GitHub beside the line that is to blame.
func (e *env) complain(err error, code int) {
	fmt.Fprintln(e.Err, "nsgate:", err)
	if e.getenv("GITHUB_ACTIONS") != "true" || e.getenv("NSGATE_ANNOTATIONS") == "never" {
		return
	}
	file, line := "", 0
	if m := place.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[2])
		file = within(e.getenv("GITHUB_WORKSPACE"), m[1])
	}
	if err := github.PublishError(report.Clean(err.Error()), file, line, code, github.Options{Writer: e.Err, Getenv: e.getenv}); err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
	}
}
