package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

func initCommand() *command {
	return &command{
		name:    "init",
		usage:   "",
		summary: "write a commented nsgate.toml and CI files to start from",
		long: `
Writes nsgate.toml into the working directory, and a GitHub workflow or a GitLab job where the repository is at home on one of
them. Files that exist are left alone.`,
		bind: func(*pflag.FlagSet) func(context.Context, *env, arguments) error {
			return func(_ context.Context, e *env, args arguments) error {
				if len(args.own) > 0 {
					return usageError("init takes no arguments")
				}
				return initialize(e)
			}
		},
	}
}

func initialize(e *env) error {
	files := []struct{ name, text string }{{policyFile, policyTemplate}}
	if exists(".github") {
		files = append(files, struct{ name, text string }{filepath.Join(".github", "workflows", "nsgate.yml"), workflowTemplate})
	}
	if exists(".gitlab-ci.yml") || exists(".gitlab") {
		files = append(files, struct{ name, text string }{filepath.Join(".gitlab", "nsgate.yml"), jobTemplate})
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
			return err
		}
		err := create(f.name, f.text)
		switch {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(e.Out, "kept   %s, which exists\n", f.name)
		case err != nil:
			return err
		default:
			fmt.Fprintf(e.Out, "wrote  %s\n", f.name)
		}
	}
	fmt.Fprint(e.Out, `
Next:
  1. name your program in nsgate.toml, under [[workload]]
  2. nsgate doctor     on the GPU machine: what is missing there
  3. nsgate record     on the code to compare with; commit .nsgate
  4. nsgate check      before a merge
`)
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// create writes a new file and fails where there is one.
func create(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

const policyTemplate = `# What nsgate measures and what it allows. Every line can be left out: these are the defaults.

threshold = "3%"        # largest slowdown of a time: of a kernel, a range, the whole workload
alpha = "1%"            # chance of a false alarm in a whole gate
impact = "0.5%"         # a kernel with a smaller share of GPU time does not fail the gate by itself
undecided = "warn"      # what to do when the data cannot decide: "warn" (exit 0) or "fail" (exit 3)

[[workload]]
name = "app"
command = "./app --steps 60"   # short and repeatable: some seconds, fixed input, fixed number of steps
runs = 5                # fresh processes; the spread between them is what a change is held against
warmup = "auto"         # or a number of steps, or "capture": between cudaProfilerStart and cudaProfilerStop
# step = "step"         # the NVTX range that the workload repeats; found by itself if left out
# timeout = "2m"        # of one run
# dir = "build"         # working directory

# Rules are tried from top to bottom; the first that matches applies.
# [[rule]]
# kernel = "sgemm*"     # or range = "forward", or copy = "memcpy HtoD"
# metric = "time"       # time, launches, total, gpu_time, copy_time, copy_bytes, copies, registers, …
# max = "5%"
# floor = "1us"         # absolute change below which nothing is a finding
# severity = "warn"     # fail, warn or ignore
`

const workflowTemplate = `# Judges what the GPU kernels of a change cost. It runs the change's code: only on pull requests that you trust.
name: nsgate
on:
  pull_request:
permissions:
  contents: read
jobs:
  gate:
    runs-on: [self-hosted, gpu]   # a machine with an NVIDIA GPU and nsys
    steps:
      - uses: actions/checkout@v4
      - run: make                 # build the workload
      - uses: nsgate/nsgate@v1
        with:
          workload: app
`

const jobTemplate = `# Include this file in .gitlab-ci.yml:  include: [{local: .gitlab/nsgate.yml}]
nsgate:
  stage: test
  tags: [gpu]                     # a runner with an NVIDIA GPU, nsys and nsgate
  script:
    - make                        # build the workload
    - nsgate check --workload app --report markdown=nsgate.md --report json=nsgate.json
  allow_failure:
    exit_codes: [3]               # no verdict: amber, not red
  artifacts:
    when: always
    paths: [nsgate.md, nsgate.json]
`
