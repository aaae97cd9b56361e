package cli

import (
	"crypto/rand"
	"fmt"
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
