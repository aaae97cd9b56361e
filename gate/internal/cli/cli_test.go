package cli

import (
	"bytes"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// Every command explains itself with an example that names it.
func TestHelpHasExamples(t *testing.T) {
	for _, c := range commands() {
		var out bytes.Buffer
		if code := Main(t.Context(), []string{c.name, "--help"},
			Streams{Out: &out, Err: io.Discard}); code != ExitPass {
			t.Errorf("%s --help ends with %d", c.name, code)
		}
		_, examples, found := strings.Cut(out.String(), "\nExamples")
		if !found || !strings.Contains(examples, "nsgate "+c.name) {
			t.Errorf("%s --help has no example:\n%s", c.name, out.String())
		}
	}
}

// TestFlagTexts wants a text for each flag and a flag for each text, and no flag without a value but keys of the policy
// or a workload.
func TestFlagTexts(t *testing.T) {
	texts, _ := flagTexts()
	unused, keys := maps.Clone(texts), strings.Fields(keyNames+limitNames)
	var visit func(above string, commands []*command)
	visit = func(above string, commands []*command) {
		for _, c := range commands {
			page := above + c.name
			family, _, _ := strings.Cut(page, "-")
			values := map[string]any{}
			fields(reflect.ValueOf(c.bindFlags(page, pflag.NewFlagSet(c.name, pflag.ContinueOnError))).Elem(), values)
			for _, name := range strings.Fields(c.flags + " help") {
				for _, key := range []string{page + " " + name, family + " " + name, name} {
					delete(unused, key)
				}
				if texts[name].meaning == "" {
					t.Errorf("help/flags.txt has no text of --%s", name)
				}
				if values[name] == nil && name != "help" && !slices.Contains(keys, name) {
					t.Errorf("--%s of %s has no value and is no key", name, c.name)
				}
			}
			visit(c.name+"-", c.parts)
		}
	}
	visit("", commands())
	if len(unused) > 0 {
		t.Errorf("help/flags.txt has texts of flags that no command has: %v", slices.Sorted(maps.Keys(unused)))
	}
}

// GitLab hands the variables of a dotenv report to later jobs: none may stand for a flag there.
func TestDotenvSetsNoFlag(t *testing.T) {
	flags := make(map[string]bool)
	for _, c := range Root().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[variable(f.Name)] = true })
	}
	if !flags["NSGATE_UNDECIDED"] {
		t.Fatal("the flags are not known")
	}
	var out bytes.Buffer
	if err := report.Render("dotenv", &out, new(result.Report), report.Options{}); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^(\w+)=`).FindAllStringSubmatch(out.String(), -1)
	if len(names) == 0 {
		t.Fatal(out.String())
	}
	for _, m := range names {
		if flags[m[1]] {
			t.Errorf("%s stands for a flag", m[1])
		}
	}
}

// A command that does not look at the end of its context ends all the same, except one that ends with its program.
func TestAbandon(t *testing.T) {
	for _, follows := range []bool{false, true} {
		var said strings.Builder
		e, code := &env{std: Streams{Err: &said}}, 0
		e.follows.Store(follows)
		e.abandon(interrupted{syscall.SIGTERM}, func(c int) { code = c })
		if want := "nsgate: interrupted (terminated); it had not ended 5s later\n"; !follows &&
			(code != 143 || said.String() != want) || follows && (code != 0 || said.Len() > 0) {
			t.Errorf("follows %v: code %d, said %q", follows, code, said.String())
		}
	}
}
