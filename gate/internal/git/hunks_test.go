package git

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// A file with another name has the lines that differ from the old one; another line end is no change; names beyond
// ASCII, and with quotes and line ends, are read.
func TestHunks(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		args = append([]string{"-c", "user.name=n", "-c", "user.email=n@example.com"}, args...)
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			t.Fatal(string(out), err)
		}
	}
	const odd, text = "я \"x\"\n.cu", "one\ntwo\nthree\nfour\nfive\n"
	git("init", "-q")
	for _, name := range []string{"old.cu", "crlf.cu", odd} {
		write(t, name, name+text)
	}
	git("add", ".")
	git("commit", "-qm", "base")
	write(t, "crlf.cu", "crlf.cuone\r\ntwo\r\nthree\r\nFOUR\r\nfive\r\n")
	write(t, odd, odd+"one\ntwo\nTHREE\nfour\nfive\n")
	write(t, "new.cu", "old.cuone\ntwo\nthree\nfour\nFIVE\n")
	if err := os.Remove("old.cu"); err != nil {
		t.Fatal(err)
	}
	git("add", "-N", "new.cu")
	r, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Hunks(ctx, "HEAD")
	if want := []Hunk{{"crlf.cu", 4, 4, false}, {"new.cu", 5, 5, false}, {odd, 4, 4, false}}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
