package report

import (
	"fmt"
	"io"

	"github.com/nsgate/nsgate/gate"
)

// Dotenv writes the verdict and the counts as variables for later jobs of a GitLab pipeline: constant names, words and
// numbers made here, nothing else. None is a variable that stands for a flag of nsgate.
func Dotenv(w io.Writer, r *gate.Report, _ Options) error {
	verdict, code := gate.NoVerdict, 3
	switch r.Verdict {
	case gate.Pass:
		verdict, code = gate.Pass, 0
	case gate.Fail:
		verdict, code = gate.Fail, 1
	}
	_, err := fmt.Fprintf(w, "NSGATE_RESULT_VERDICT=%s\nNSGATE_RESULT_EXIT_CODE=%d\nNSGATE_RESULT_REGRESSED=%d\n"+
		"NSGATE_RESULT_IMPROVED=%d\nNSGATE_RESULT_UNDECIDED=%d\n",
		verdict, code, r.Counts.Regressed, r.Counts.Improved, r.Counts.Inconclusive)
	return err
}
