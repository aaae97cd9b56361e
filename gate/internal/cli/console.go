package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

// ascii reports whether the locale says that only ASCII can be shown.
func ascii(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return locale == "C" || locale == "POSIX"
}

func (e *env) encode(value any) error {
	enc := json.NewEncoder(e.Out.As(terminal.JSON))
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// width is the terminal's width; COLUMNS, then 100 where there is none.
func width(e *env) int {
	given, _ := strconv.Atoi(e.getenv("COLUMNS"))
	return cmp.Or(e.Out.Columns(), max(given, 0), 100)
}

// complain prints an error to standard error, and on GitHub as an annotation of the line that it names.
func (e *env) complain(err error, code int) {
	fmt.Fprintln(e.Err, "nsgate:", err)
	if e.getenv("GITHUB_ACTIONS") != "true" || e.getenv("NSGATE_ANNOTATIONS") == "never" {
		return
	}
	file, line := "", 0
	if at := (*measure.PlaceError)(nil); errors.As(err, &at) {
		file, line = git.Within(e.getenv("GITHUB_WORKSPACE"), at.File), at.Line
	}
	if err := github.PublishError(report.Clean(err.Error()), file, line, code,
		github.Options{Writer: e.Err.Raw(), Getenv: e.getenv}); err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
	}
}

// noVerdict prints a refusal as "not recorded: …", where what is "recorded", and returns its exit code. It returns
// other errors.
func noVerdict(e *env, what string, err error) error {
	list, code := []error{err}, ExitNoVerdict
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range list {
		r := (*model.Refusal)(nil)
		if !errors.As(err, &r) {
			return err
		}
		code = max(code, refused(string(r.Kind)))
		fmt.Fprintln(e.Err, "nsgate: not "+what+":", report.Clean(r.Reason))
		if r.Next != "" {
			fmt.Fprintln(e.Err, "nsgate:", report.Clean(WayOut(r.Kind, r.Next)))
		}
	}
	return &exit{code: code}
}
