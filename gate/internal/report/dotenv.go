package report

import (
	"fmt"

	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// dotenv writes variables whose names and values are made here, from no text of the report. None of them is read by
// nsgate.
func dotenv(v *story.Story) (string, error) {
	return fmt.Sprintf("NSGATE_RESULT_VERDICT=%s\nNSGATE_RESULT_EXIT_CODE=%d\nNSGATE_RESULT_SLOWER=%d\n"+
		"NSGATE_RESULT_FASTER=%d\nNSGATE_RESULT_UNDECIDED=%d\n",
		v.Verdict(), v.Gate.Code, v.Counts.Slower, v.Counts.Faster, v.Counts.Undecided), nil
}
