package cli

import (
	"strings"
	"syscall"
	"testing"
)

func TestBrowser(t *testing.T) {
	for _, c := range []struct{ system, display, want string }{
		{"linux", "", ""}, {"linux", ":0", "xdg-open"}, {"darwin", "", "open"}, {"windows", "", "rundll32"},
	} {
		getenv := func(name string) string {
			if name == "DISPLAY" {
				return c.display
			}
			return ""
		}
		if got, _ := browser(c.system, getenv); got != c.want {
			t.Errorf("%s with display %q: %q, want %q", c.system, c.display, got, c.want)
		}
	}
}

// TestUnwritten has errors with the next step that helps.
func TestUnwritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		errno syscall.Errno
		want  string
	}{
		{"x.json", syscall.EACCES, "name another file, in a directory that can be written"},
		{"x.json", syscall.ENOENT, "name another file, in a directory that can be written"}, // /proc
		{"none/x.json", syscall.ENOENT, "make the directory none first"},
		{"x.json", syscall.EMFILE, "raise the limit of open files (ulimit -n)"},
		{"x.json", syscall.ENAMETOOLONG, "name another file, in a directory that can be written"},
	} {
		if err := unwritten(c.name, c.errno); !strings.HasSuffix(err.Error(), "; "+c.want) {
			t.Errorf("%s: want %s", err, c.want)
		}
	}
}
