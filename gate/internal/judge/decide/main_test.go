package decide_test

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/explain/insight"
	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/thresholds"
)

// TestMain lets garbage lie for longer: the simulations judge tens of thousands of gates and keep none of them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	flag.Set("rapid.checks", strconv.Itoa(sample(100)))
	if !full() {
		flag.Set("rapid.seed", "1") // few draws have to say every sentence
	}
	code := m.Run()
	whole := true // of the tests were run
	for _, name := range []string{"test.run", "test.skip", "test.bench", "test.list", "test.fuzz"} {
		whole = whole && flag.Lookup(name).Value.String() == ""
	}
	if never := neverSaid(); code == 0 && whole && len(never) > 0 {
		fmt.Println("FAIL: no test says " + strings.Join(never, ", "))
		code = 1
	}
	os.Exit(code)
}

// sample is the number of simulated gates of a test, or of the checks of a property: a tenth of all under go test, all
// of them in benchmarks and where $NSGATE_TEST_FULL is set, as in CI.
func sample(all int) int {
	if full() {
		return all
	}
	return all / 10
}

// full reports whether all gates are simulated.
func full() bool {
	return os.Getenv("NSGATE_TEST_FULL") != "" || flag.Lookup("test.bench").Value.String() != ""
}

// compareSides judges a head by a baseline, and records what the report says.
func compareSides(base, head []model.Session, policy *thresholds.Policy) *result.Report {
	r := insight.Judge(decide.Input{Baseline: base, Head: head, Policy: policy.For("")}).Shown(nil)
	record(r)
	return r
}
