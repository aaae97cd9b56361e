package cli

import "testing"

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
