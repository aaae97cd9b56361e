package command_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nsgate/nsgate/gate/internal/cli"
)

var (
	redOrAmber = regexp.MustCompile(`(?m)^(FAIL|NO VERDICT|PASS, UNDECIDED)[A-Z, ]*\s`)
	doing      = regexp.MustCompile(`(?m)^ +Do +\S`)
	stepLine   = regexp.MustCompile(`(?m)^ +(Next|Settle|Intended\?|Accept) +(\S.*(?:\n {10}\S.*)*)`)
	ownCommand = regexp.MustCompile(`(?:^|: |\()nsgate ([a-z]+)((?: [^\s(;,]+)*)`)
	flagNames  = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// advised checks the report that a script has just printed: where it is red or amber it has a next step, and each
// command of nsgate in a step is one, with flags that this command has.
func advised(ts *testscript.TestScript, args []string, out string) {
	if len(args) < 2 || args[0] != "nsgate" || !slices.Contains([]string{"check", "compare", "report"}, args[1]) ||
		slices.Contains(args, "-q") || slices.Contains(args, "--quiet") {
		return
	}
	for i, part := range strings.Split(out, "\n── ") {
		several := i == 0 && strings.Contains(out, "\n── ")
		if redOrAmber.MatchString(part) && !several && !stepLine.MatchString(part) && !doing.MatchString(part) {
			ts.Fatalf("no next step in\n%s", part)
		}
	}
	for _, m := range stepLine.FindAllStringSubmatch(out, -1) {
		step, _, _ := strings.Cut(strings.Join(strings.Fields(m[2]), " "), " Details nsgate report")
		for _, c := range ownCommand.FindAllStringSubmatch(step, -1) {
			help := helpOf(c[1])
			line, _, _ := strings.Cut(c[2], " -- ") // the workload's flags are its own
			for _, flag := range flagNames.FindAllStringSubmatch(line, -1) {
				if !strings.Contains(help, "--"+flag[1]) {
					ts.Fatalf("nsgate %s has no --%s: %s", c[1], flag[1], step)
				}
			}
			if help == "" && c[1] != "reads" { // prose
				ts.Fatalf("nsgate has no command %s: %s", c[1], step)
			}
		}
	}
}

var helps sync.Map

// helpOf is the whole help of a command, "" where there is none.
func helpOf(command string) string {
	if text, ok := helps.Load(command); ok {
		return text.(string)
	}
	var b bytes.Buffer
	if cli.Main(context.Background(), []string{command, "--help", "all"}, cli.Streams{Out: &b, Err: &b}) != 0 {
		b.Reset()
	}
	helps.Store(command, b.String())
	return b.String()
}
