package github_test

import (
	"fmt"
	"os"

	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// The runner turns such lines into annotations of the pull request. In a workflow Getenv is os.Getenv.
func ExamplePublish() {
	r := &result.Report{Verdict: result.NoVerdict, Reason: "base and head ran on different GPU models",
		Next: []string{"record a baseline on this GPU"}}
	if err := github.Publish(r, "", github.Options{Writer: os.Stdout}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ::error title=nsgate%3A no verdict::base and head ran on different GPU models%0Arecord a baseline on this GPU
}
