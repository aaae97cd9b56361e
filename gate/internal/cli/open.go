package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// pageFile is where report --open writes its page, beside the last report.
func pageFile(e *env) (string, error) {
	last := lastFile(e.ctx)
	if last == "" {
		return "", usageError("--open keeps the page in git's own directory, and here is no git repository: write it with " +
			"--output page.html")
	}
	dir := filepath.Dir(last)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("--open: %w; write the page with --output page.html", err)
	}
	return filepath.Join(dir, "last.html"), nil
}

// open writes the page of a report, shows it in the browser where there is one, and prints the verdict and the file.
func (v *reportVerb) open(e *env, r *result.Judgement, by basis) error {
	page, err := pageFile(e)
	if err != nil {
		return err
	}
	v.out.files = append(v.out.files, file{"html", page, "--open"})
	v.out.quiet = true
	verdict := v.out.publish(e, r, by)
	if _, err := os.Stat(page); err != nil {
		return verdict
	}
	fmt.Fprintln(e.Out, "wrote", page)
	if program, args := browser(runtime.GOOS, e.getenv); program != "" {
		if err := proc.Run(e.ctx, "", io.Discard, io.Discard, program, append(args, page)...); err != nil {
			fmt.Fprintf(e.Err, "nsgate: no browser was opened (%s: %v); open the file yourself\n", program, err)
		}
	}
	return verdict
}

// browser is the program that opens a file in the browser, "" where no screen is known.
func browser(system string, getenv func(string) string) (program string, args []string) {
	switch {
	case system == "darwin":
		return "open", nil
	case system == "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return "xdg-open", nil
	}
	return "", nil
}
