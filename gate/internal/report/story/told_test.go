package story

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/result"
)

var update = flag.Bool("update", false, "write testdata/told.txt anew")

// TestTold holds the sentences on causes: those of the saved reports, and of each class of idle time.
func TestTold(t *testing.T) {
	var told strings.Builder
	for _, file := range []string{"fail.json", "step.json", "undecided.json", "pass.json", "once.json"} {
		in, err := os.Open(filepath.Join("../testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		r, err := saved.Read(in, file)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range Tell(r, Options{Verbose: true}).Each {
			fmt.Fprintf(&told, "%s: %s\n", file, v.Headline())
			for _, list := range [][]Cause{v.Causes, v.Open, v.Gains} {
				for _, c := range list {
					fmt.Fprintf(&told, "  %s | %s | %s\n", c.Short, strings.Join(c.Why, ". "), c.Do)
				}
			}
			for _, x := range []Said{v.Besides(), v.Omitted(), v.increased()} {
				if len(x.Lines) > 0 {
					fmt.Fprintf(&told, "  %s: %s\n", x.Label, strings.Join(x.Lines, ". "))
				}
			}
		}
	}
	for _, class := range []string{measure.IdleLaunch, measure.IdleSync, measure.IdleDependency, measure.IdleGaps,
		measure.IdleUnknown} {
		at := measure.ParsePlace("host code in step after cudaFree")
		for _, change := range []result.Number{5e3, -5e3} {
			fmt.Fprintln(&told, Owner(class, at, true)+": "+waits(FallRow{Own: result.Own{Change: change, Base: 9e3,
				Head: 9e3 + change}, Class: class, Place: at}, "in every step", "step", nil))
		}
	}
	got := strings.ReplaceAll(told.String(), NB, " ")
	const golden = "testdata/told.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("line %d of %s differs; -update writes what is told now:\n%s", i+1, golden, line)
		}
	}
}
