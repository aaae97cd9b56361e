package report

import (
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/decide"
)

func init() {
	register(Format{Name: "dotenv", Suffix: ".env", About: "verdict and counts for later jobs of a GitLab pipeline", render: dotenv})
}

// dotenv writes variables: constant names, words and numbers made here, nothing else. None is a variable that stands for
// a flag of nsgate.
func dotenv(v *view, _ Options) (string, error) {
	r, verdict, code := v.Report, decide.NoVerdict, 3
	switch r.Verdict {
	case decide.Pass:
		verdict, code = decide.Pass, 0
	case decide.Fail:
		verdict, code = decide.Fail, 1
	}
	return fmt.Sprintf("NSGATE_RESULT_VERDICT=%s\nNSGATE_RESULT_EXIT_CODE=%d\nNSGATE_RESULT_REGRESSED=%d\n"+
		"NSGATE_RESULT_IMPROVED=%d\nNSGATE_RESULT_UNDECIDED=%d\n",
		verdict, code, r.Counts.Regressed, r.Counts.Improved, r.Counts.Inconclusive), nil
}
