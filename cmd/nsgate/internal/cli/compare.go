package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/report"
)

func compareCommand() *command {
	return &command{
		name:    "compare",
		usage:   "[flags] BASE HEAD",
		summary: "judge from profiles or saved sessions, no GPU needed",
		long: `
BASE and HEAD are each a profile, a directory of profiles, a baseline directory, or a saved JSON report. Profiles are SQLite
exports of nsys and its reports (.nsys-rep, which need nsys), CSV of nsys stats, traces and printed tables of torch.profiler, CSV
pages of ncu and its reports (.ncu-rep, which need ncu), and archives of nsys-jax. Every process in them that launched kernels is
a run of that side; both sides must come from one profiler.

Examples:

  nsgate compare before/ after/
  nsgate compare --threshold 1% before.sqlite after.sqlite
  nsgate compare --explain before.csv,after.csv before/ after/
  nsgate compare --format json before/ after/ > report.json`,
		bind: func(fs *pflag.FlagSet) func(context.Context, *env, arguments) error {
			var policy policyFlags
			var cut sampleFlags
			var out outputFlags
			var explained string
			policy.bind(fs)
			cut.bind(fs)
			fs.StringVar(&explained, "explain", "", "say why kernels got slower from output of ncu --csv --page raw: BASE.csv,HEAD.csv")
			out.bind(fs)
			return func(ctx context.Context, e *env, args arguments) error {
				if len(args.own) != 2 {
					return usageError("compare wants two sides, BASE and HEAD, and got %d", len(args.own))
				}
				if err := out.check(); err != nil {
					return err
				}
				p, err := policy.load()
				if err != nil {
					return err
				}
				r, err := compare(ctx, &cut, args.own[0], args.own[1], func(base, head []measure.Session) *gate.Report {
					r := report.Evaluate(base, head, p)
					tellUnused(r, p, base, head)
					return r
				})
				if err != nil {
					return err
				}
				if explained != "" {
					if err := e.explainFrom(explained, r); err != nil {
						return err
					}
				}
				r.Reproduce = e.reproduce(nil)
				return out.publish(e, r, nil)
			}
		},
	}
}

// compare loads both sides and judges them. What cannot be judged is a report without a verdict; the error is for
// wrong usage.
func compare(ctx context.Context, cut *sampleFlags, basePath, headPath string,
	judge func(base, head []measure.Session) *gate.Report) (*gate.Report, error) {
	base, err := cut.load(ctx, basePath)
	if err != nil {
		return refused(err)
	}
	head, err := cut.load(ctx, headPath)
	if err != nil {
		return refused(err)
	}
	if cut.step != "" || cut.warmup != "" {
		for _, in := range []*input{base, head} {
			if len(in.profiles)+len(in.runs) > 0 {
				in.warnings = append(in.warnings, in.path+" is summed up already: --step and --warmup change nothing in it")
			}
		}
	}
	if err := cut.sessions(base, head); err != nil {
		return refused(err)
	}
	b, h := alike(base.sessions, head.sessions)
	r := judge(b, h)
	r.Warnings = append(r.Warnings, slices.Concat(base.warnings, head.warnings)...)
	tellTwice(r, b, h)
	explainCounted(r, b)
	return r, nil
}

// alike picks what one profiler measured where a side holds what several did, as baselines do: nsys's where both sides have
// that, else what both have.
func alike(base, head []measure.Session) (b, h []measure.Session) {
	for _, profiler := range append([]string{"nsys", "ncu"}, profilersOf(head)...) {
		b, h := by(profiler, base), by(profiler, head)
		if len(b) > 0 && len(h) > 0 && (len(h) < len(head) || len(b) < len(base)) {
			return b, h
		}
	}
	return base, head
}

// profilersOf lists what measured sessions, each profiler once.
func profilersOf(sessions []measure.Session) []string {
	var names []string
	for _, s := range sessions {
		if name := s.Profiler(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// refused turns a refusal into a report without a verdict and lets every other error through.
func refused(err error) (*gate.Report, error) {
	var refusal *measure.Refusal
	if errors.As(err, &refusal) {
		return gate.Refused(refusal), nil
	}
	return nil, err
}

// reproduce is the command line that repeats this command. The workload's own command line is shown only where the
// user asked for it: it may hold secrets. Flags that say only where output goes are left out.
func (e *env) reproduce(workload []string) string {
	words := []string{"nsgate"}
	value := false
	for _, w := range e.line {
		name, _, joined := strings.Cut(strings.TrimLeft(w, "-"), "=")
		switch flag := strings.HasPrefix(w, "-"); {
		case value:
			value = false
			continue
		case w == "-q", w == "-v", flag && slices.Contains(outputOnly, name):
			value = !joined && !slices.Contains([]string{"q", "v", "quiet", "verbose"}, name)
			continue
		case w == "--" && workload != nil:
			return strings.Join(append(words, "-- WORKLOAD…"), " ")
		}
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

// quote writes a word as a POSIX shell reads it back.
func quote(s string) string {
	plain := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") == ""
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
