package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/nsgate/nsgate/gate/internal/git"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/report"
	"github.com/nsgate/nsgate/gate/internal/report/github"
	"github.com/nsgate/nsgate/gate/measure"
)

// plainWriter cleans every line of standard error: file names, commit subjects and errors in it are hostile. A line holds no
// control characters and no command of a CI host.
type plainWriter struct{ to io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		text, ended := strings.CutSuffix(line, "\n")
		b.WriteString(plain(text))
		if ended {
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w.to, b.String())
	return len(p), err
}

// plain is a line without control characters, and without what GitHub (::error, ##[error]), Azure (##vso[) and TeamCity
// (##teamcity[) take for a command.
func plain(line string) string {
	line = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, line)
	if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "::"); ok {
		line = ": :" + rest
	}
	for _, mark := range []string{"##[", "##vso[", "##teamcity["} {
		line = strings.ReplaceAll(line, mark, "# "+mark[1:])
	}
	return line
}

// asciiWriter writes text for a locale whose characters are those of ASCII.
type asciiWriter struct{ to io.Writer }

// spelled are the characters of reports in ASCII; others become "?".
var spelled = strings.NewReplacer("µ", "u", "→", "->", "×", "x", "…", "...", "–", "-", "−", "-", "±", "+-", "≥", ">=", "≤", "<=", "·", "|", "•", "*",
	"✓", "ok", "✗", "XX", "─", "-", "═", "=", "│", "|", "▁", "_", "▂", "_", "▃", "-", "▄", "-", "▅", "=", "▆", "=", "▇", "#", "█", "#", "“", "\"", "”", "\"")

func (w asciiWriter) Write(p []byte) (int, error) {
	text := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, spelled.Replace(string(p)))
	_, err := io.WriteString(w.to, text)
	return len(p), err
}

// ascii reports whether the locale says that only ASCII can be shown.
func ascii(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	return locale == "C" || locale == "POSIX"
}

// text is standard output for text, in ASCII if the locale is C.
func (e *env) text() io.Writer {
	if ascii(e.getenv) {
		return asciiWriter{e.Out}
	}
	return e.Out
}

// width is the terminal's width; COLUMNS, then 100 where there is none.
func width(e *env) int {
	given, _ := strconv.Atoi(e.getenv("COLUMNS"))
	return cmp.Or(columns(e.Out), max(given, 0), 100)
}

// columns is the width of the terminal that w writes to, 0 where it is none.
func columns(w io.Writer) int {
	switch w := w.(type) {
	case *os.File:
		if width, _, err := term.GetSize(int(w.Fd())); err == nil {
			return max(width, 1)
		}
	case plainWriter:
		return columns(w.to)
	case asciiWriter:
		return columns(w.to)
	}
	return 0
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
	if err := github.PublishError(report.Clean(err.Error()), file, line, code, github.Options{Writer: e.raw, Getenv: e.getenv}); err != nil {
		fmt.Fprintln(e.Err, "nsgate:", err)
	}
}

// noVerdict prints a refusal as "not recorded: …", with what as the participle, and returns exit code 3. Other errors are returned
// as they are.
func noVerdict(e *env, what string, err error) error {
	list := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		list = several.Unwrap()
	}
	for _, err := range list {
		r := (*model.Refusal)(nil)
		if !errors.As(err, &r) {
			return err
		}
		fmt.Fprintln(e.Err, "nsgate: not "+what+":", report.Clean(r.Reason))
		if r.Next != "" {
			fmt.Fprintln(e.Err, "nsgate:", report.Clean(WayOut(string(r.Kind), r.Next)))
		}
	}
	return &exit{code: ExitNoVerdict}
}
