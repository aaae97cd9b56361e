package proc

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestInherited starts this test by programs that change one setting, and wants that setting to differ alone. What
// cannot be set here is left out.
func TestInherited(t *testing.T) {
	if os.Getenv("NSGATE_TEST_INHERITS") != "" {
		all, err := Inherited()
		if err != nil {
			t.Fatal(err)
		}
		json.NewEncoder(os.Stderr).Encode(all)
		return
	}
	told := func(words ...string) (all map[string]string) {
		words = append(words, os.Args[0], "-test.run=^TestInherited$")
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "NSGATE_TEST_INHERITS=1")
		var said Output
		cmd.Stderr = &said
		if cmd.Run() != nil || json.NewDecoder(strings.NewReader(said.String())).Decode(&all) != nil {
			return nil
		}
		return all
	}
	words := func(command string) (out []string) {
		for _, word := range strings.Fields(command) {
			out = append(out, strings.ReplaceAll(word, "~", " "))
		}
		return out
	}
	plain, seen := told("env"), 0
	for _, tt := range []struct{ command, want string }{ // ~ for a blank in a word
		{"env A=2", ""},
		{"setpriv --regid 65534 --keep-groups", "Gid"},
		{"setpriv --groups 5", "Groups"},
		{"setpriv --inh-caps +net_raw", "CapInh"},
		{"setpriv --inh-caps +net_raw --ambient-caps +net_raw", "CapAmb, CapInh"},
		{"setpriv --bounding-set -net_raw", "CapBnd, CapEff, CapPrm"},
		{"setpriv --no-new-privs", "NoNewPrivs"},
		{`sh -c trap~''~HUP;exec~"$@" sh`, "SigIgn"},
		{"env --block-signal=USR1", "SigBlk"},
		{"setarch -R", "personality"},
		{"nice -n 4", "scheduling"},
		{"chrt -b 0", "scheduling"},
		{"ionice -c 2 -n 7", "I/O priority"},
		{"choom -n 500 --", "OOM score"},
		{`sh -c umask~077;exec~"$@" sh`, "Umask"},
		{"prlimit --stack=4096000", "Max stack size"},
		{"prlimit --memlock=65536:65536", "Max locked memory"},
		{"prlimit --nproc=5000", "Max processes"},
	} {
		got := told(words(tt.command)...)
		if got == nil || tt.want == "SigIgn" && signal.Ignored(syscall.SIGHUP) { // as under nohup
			t.Logf("%s: cannot be set here", tt.command)
			continue
		}
		seen++
		var differ []string
		for name := range plain {
			if got[name] != plain[name] {
				differ = append(differ, name)
			}
		}
		slices.Sort(differ)
		if now := strings.Join(differ, ", "); now != tt.want || len(got) != len(plain) {
			t.Errorf("%s: %q differ, want %q", tt.command, now, tt.want)
		}
	}
	if seen < 2 {
		t.Skip("nothing can be set here")
	}
}
