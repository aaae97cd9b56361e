//go:build linux

package command_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// The workloads of these tests.
const (
	// waits says which process it is and ends once the file go is there.
	waits = `echo $$ >$WORK/pid.tmp && mv $WORK/pid.tmp $WORK/pid; sleep 300 & until test -e $WORK/go; do sleep 0.05; done; kill $!`
	// leaves goes on in the background for a moment that the runner grants it.
	leaves = `sleep 300 >/dev/null 2>&1 & touch $WORK/left`
)

// bare is a workload that waits where no profiler is around it.
const bare = `test -n "$NSYS_PROFILING_SESSION_ID" && exit; ` + waits

// readsCode is the child that reads the device code of a build.
const readsCode = "nsgate __run --device-code"

const repository = `git init -q -b main . && git add app base && git commit -q -m base`

// kills are the stages of killing processes. victims holds nsgate's message, "" where nsgate itself is killed.
var kills = []struct {
	name    string
	env     string // a variable more
	code    int    // of an nsgate that lives, 0 for 3, or for 4 where the head's program was killed
	args    []string
	ready   func(w *world) bool
	victims map[string]string
}{
	{
		name: "before the first run", env: "NSGATE_FAKE_NSYS_FAULT=stuck",
		args:  []string{"check", "--runs", "5", "--", "./app"},
		ready: func(w *world) bool { return len(w.find("nsys profile")) > 0 },
		victims: map[string]string{"nsgate": "",
			"nsys profile": `NO VERDICT +nsys ended after 0 of 5 runs \(signal: killed`},
	}, {
		name: "in a run", args: []string{"check", "--runs", "5", "--", "./app"},
		ready: func(w *world) bool { return w.exists("pid") },
		victims: map[string]string{
			"nsgate": "", "nsys profile": `NO VERDICT +nsys ended after 0 of 5 runs \(signal: killed`,
			"workload":       `NO VERDICT +the workload was killed\s+\(SIGKILL\),\s+often\s+for\s+want\s+of\s+memory,\s+in\s+run 1 of 5`,
			"nsgate __run /": `NO VERDICT +nsys ended after 0 of 5 runs`,
		},
	}, {
		name: "while a baseline is recorded", args: []string{"record", "--", "./app"},
		ready: func(w *world) bool { return w.exists("pid") },
		victims: map[string]string{
			"nsgate":   "",
			"workload": `not recorded: the workload was killed\s+\(SIGKILL\),\s+often\s+for\s+want\s+of\s+memory,\s+in\s+run 1 of 5`,
		},
	}, {
		name: "between runs", args: []string{"check", "--runs", "5", "--", "./leaves"},
		ready: func(w *world) bool { return w.exists("left") },
		victims: map[string]string{"nsgate": "",
			"nsys profile": `NO VERDICT +nsys ended after \d of 5 runs \(signal: killed`},
	}, {
		name: "in an unprofiled run", args: []string{"check", "--runs", "5", "--unprofiled", "5", "--", "./bare"},
		ready: func(w *world) bool { return w.exists("pid") },
		victims: map[string]string{
			"nsgate": "", "nsys profile": `NO VERDICT +nsys ended after 1 of 10 runs \(signal: killed`,
			"workload":             `NO VERDICT +the workload was killed\s+\(SIGKILL\),\s+often\s+for\s+want\s+of\s+memory,\s+in\s+run 2 of 10\s+\(unprofiled\)`,
			"spec.json unprofiled": `NO VERDICT +the unprofiled runs ended after 1 of 10 runs \(signal: killed`,
		},
	}, {
		name: "during the export", env: "NSGATE_FAKE_NSYS_FAULT=slow-export", args: []string{"check", "--", "true"},
		ready: func(w *world) bool {
			half, _ := filepath.Glob(w.tmp + "/nsgate-*/session-*.sqlite")
			if len(half) == 0 {
				return false
			}
			info, err := os.Stat(half[0])
			return err == nil && info.Size() > 0
		},
		victims: map[string]string{"nsgate": "", "nsys export": `NO VERDICT +nsys could not export`},
	}, {
		name: "in a run of the base", args: []string{"check", "--runs", "5", "--paired", "--base-cmd", "./app", "--",
			"true"},
		ready: func(w *world) bool { return w.exists("pid") },
		victims: map[string]string{
			"nsgate":   "",
			"workload": `NO VERDICT +the workload was killed\s+\(SIGKILL\),\s+often\s+for\s+want\s+of\s+memory,\s+in\s+run 1 of 10\s+\(base\s+build\)`,
		},
	}, {
		name: "in a build of the base", args: []string{"check", "--paired", "--base-ref", "main", "--build", waits,
			"--", "true"},
		ready: func(w *world) bool { return w.exists("pid") },
		victims: map[string]string{
			"nsgate": "", "workload": `NO VERDICT +the build of the base main failed: signal: killed`,
		},
	}, {
		name: "in a run of a built base", args: []string{"check", "--paired", "--base-ref", "main", "--", "./app"},
		ready:   func(w *world) bool { return w.exists("pid") },
		victims: map[string]string{"nsgate": ""},
	}, {
		name: "while device code is read", args: []string{"record", "--policy", "code.toml", "--runs", "2"},
		ready: func(w *world) bool { return len(w.find(readsCode)) > 0 },
		victims: map[string]string{"nsgate": "",
			readsCode: `not recorded: device code cannot be read: \S+large.cubin: the process\s+that reads it ended: ` +
				`signal: killed`},
	}, {
		// The results so far are not lost.
		name: "while ncu explains", env: "NSGATE_FAKE_NCU_FAULT=hang", code: 1,
		args:  []string{"check", "--", "sh", "-c", "exit 0"},
		ready: func(w *world) bool { return len(w.find("ncu --csv")) > 0 },
		victims: map[string]string{"nsgate": "",
			"ncu --csv": `FAIL +default  saxpy(.|\n)*no counters: ncu wrote nothing \(signal: killed`},
	},
}

// Whatever is killed, at whatever stage: nothing hangs, nothing is left behind, nothing that was there is lost, and an
// nsgate that lives says what happened and gives no verdict.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	seed := newWorld(t)
	seed.script("app", waits)
	seed.script("leaves", leaves)
	seed.script("bare", bare)
	seed.run(0, "sh", "-c", `cp app base && `+repository+` && nsgate record --from $KERNELS/base`)
	large := filepath.Join(t.TempDir(), "large.cubin") // takes some seconds to read
	if err := os.WriteFile(large, exporttest.Cubin(1_000_000, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	seed.write("code.toml", fmt.Sprintf("[[workload]]\nname = \"default\"\ncommand = [\"true\"]\ncode = %q\n", large))
	for _, stage := range kills {
		for victim, want := range stage.victims {
			if !full() && victim != "nsgate" && stage.name != "in a run" {
				continue
			}
			t.Run(stage.name+"/"+victim, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.set("NSGATE_RUNS", "5")
				if name, value, ok := strings.Cut(stage.env, "="); ok {
					w.set(name, value)
				}
				if stage.code == 1 {
					w.set("NSGATE_FAKE_PROFILES", w.get("KERNELS")+"/saxpy_1.05")
				}
				w.like(seed)
				before := snapshot(w.work + "/.nsgate")
				git := snapshot(w.work + "/.git")

				j := w.start("nsgate", stage.args...)
				w.until("what is waited for", func() bool { return stage.ready(w) })
				switch victim {
				case "nsgate":
					j.cmd.Process.Kill()
				case "workload":
					text, _ := os.ReadFile(filepath.Join(w.work, "pid"))
					pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
					if err != nil {
						t.Fatal(err)
					}
					syscall.Kill(pid, syscall.SIGKILL)
				default:
					killed := w.find(victim)
					if len(killed) == 0 {
						t.Fatalf("there is no %s, but %v", victim, w.find(""))
					}
					for pid := range killed {
						syscall.Kill(pid, syscall.SIGKILL)
					}
				}
				code := j.wait()
				if victim != "nsgate" {
					wanted := cmp.Or(stage.code, 3)
					if strings.Contains(want, "the workload was killed") && !strings.Contains(want, "base") {
						wanted = 4
					}
					if code != wanted {
						t.Errorf("exit code %d, want %d\n%s", code, wanted, j.said())
					}
					j.says(want)
					if names := entries(w.tmp); len(names) > 0 {
						t.Errorf("nsgate left %q behind", names)
					}
				}
				w.gone()
				w.same("the baseline", before, snapshot(w.work+"/.nsgate"))
				os.RemoveAll(w.work + "/.git/nsgate") // where a check keeps its last report
				w.same("the repository", git, snapshot(w.work+"/.git"))
			})
		}
	}
}

// Where no more files can be opened, and so no process be started, there is no verdict and nothing is left.
func TestFewFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	inherited, _ := os.ReadDir("/proc/self/fd") // by this process: they would count
	for _, e := range inherited {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	w := newWorld(t)
	for n := 8; n <= 32; n += 4 {
		j := w.start("sh", "-c", fmt.Sprintf("ulimit -n %d && exec nsgate check --runs 2 -- true", n))
		if code := j.wait(); code != 2 && code != 3 || j.said() == "" {
			t.Errorf("%d files: exit code %d\n%s", n, code, j.said())
		}
		w.gone()
	}
}

// The first signal ends a command politely, the second one at once; the guard clears up.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script("app", `trap "" TERM INT; `+waits)
	j := w.start("nsgate", "record", "--runs", "2", "--", "./app")
	w.until("the run", func() bool { return w.exists("pid") })
	j.cmd.Process.Signal(syscall.SIGINT)
	j.cmd.Process.Signal(syscall.SIGTERM)
	j.wait()
	// Two threads may take the signals, in either order.
	state := j.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !state.Signaled() || state.Signal() != syscall.SIGTERM && state.Signal() != syscall.SIGINT {
		t.Errorf("nsgate ended with %v, want the second signal\n%s", j.cmd.ProcessState, j.said())
	}
	w.gone()
}

// The first signal ends a check that waits for git, which is given 10 s to answer.
func TestSignalWhileGitHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(0, "sh", "-c", "git init -q && git commit -q --allow-empty -m base && mkdir ../hangs")
	w.script("../hangs/git", "touch $WORK/asked; exec sleep 600")
	w.set("PATH", filepath.Join(w.work, "..", "hangs")+":"+w.get("PATH"))
	j := w.start("nsgate", "check", "--from", w.get("KERNELS")+"/base")
	w.until("the question to git", func() bool { return w.exists("asked") })
	at := time.Now()
	j.cmd.Process.Signal(syscall.SIGINT)
	if code := j.wait(); code != 130 || time.Since(at) > 9*time.Second {
		t.Errorf("exit code %d after %v, want 130 at once\n%s", code, time.Since(at), j.said())
	}
	w.gone()
}

// Nothing is missed where the guard of the private directory is killed: nsgate itself is well.
func TestKillGuard(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			loseGuard(t, signal)
		})
	}
}

func loseGuard(t *testing.T, signal syscall.Signal) {
	w := newWorld(t)
	w.script("app", waits)
	j := w.start("nsgate", "record", "--runs", "2", "--", "./app")
	w.until("the run", func() bool { return w.exists("pid") })
	for pid := range w.find("__run --guard") {
		syscall.Kill(pid, signal)
	}
	os.WriteFile(filepath.Join(w.work, "go"), nil, 0o644)
	if code := j.wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, j.said())
	}
	w.gone()
	// nsgate is killed meanwhile: the runner, or the next nsgate, ends a guard that cannot do so.
	os.Remove(filepath.Join(w.work, "pid"))
	os.Remove(filepath.Join(w.work, "go"))
	j = w.start("nsgate", "record", "--replace", "--reason", "x", "--runs", "2", "--", "./app")
	w.until("the run", func() bool { return w.exists("pid") })
	for pid := range w.find("__run --guard") {
		syscall.Kill(pid, signal)
	}
	j.cmd.Process.Kill()
	j.wait()
	w.gone()
}

// Where everything is killed at once, as an operating system does that is out of memory, or a CI host that ends a job,
// the private directory stays with what is in it. The next nsgate removes it, and none that is in use.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	w := newWorld(t)
	w.set("SECRET_TOKEN", "hunter2")
	w.script("app", waits)
	w.run(0, "sh", "-c", `cp app base && `+repository+` && nsgate record --from $KERNELS/base`)
	git := snapshot(w.work + "/.git")
	killAll := func(args ...string) (left string) {
		os.Remove(filepath.Join(w.work, "pid"))
		j := w.start("nsgate", args...)
		w.until("the run", func() bool { return w.exists("pid") })
		// All are stopped before the first is killed: who sees another one die clears up.
		stopped := make(map[int]string)
		w.until("the standstill", func() bool {
			before := len(stopped)
			for pid, command := range w.find("") {
				syscall.Kill(pid, syscall.SIGSTOP)
				stopped[pid] = command
			}
			return len(stopped) == before
		})
		for pid := range stopped {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		w.until("their end", func() bool { return len(w.find("")) == 0 })
		j.wait()
		names := entries(w.tmp)
		if len(names) != 1 {
			t.Fatalf("%q are left, want the one private directory of the nsgate that was just killed", names)
		}
		if info, err := os.Stat(filepath.Join(w.tmp, names[0])); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", names[0], info.Mode(), err)
		}
		return names[0]
	}
	first := killAll("check", "--", "./app")
	secret := false
	for _, text := range snapshot(w.tmp) {
		secret = secret || strings.Contains(text, "hunter2")
	}
	if !secret {
		t.Error("what is left holds no environment: the test proves nothing")
	}
	if second := killAll("check", "--paired", "--base-ref", "main", "--build", waits, "--", "true"); second == first {
		t.Errorf("%s has survived the next nsgate", first)
	}

	// One that lives, and one that comes.
	os.Remove(filepath.Join(w.work, "pid"))
	living := w.start("nsgate", "check", "--runs", "2", "--", "./app")
	w.until("the run", func() bool { return w.exists("pid") })
	if now := entries(w.tmp); len(now) != 1 {
		t.Errorf("%q are there, want the directory of the living nsgate only", now)
	}
	w.same("the repository", git, snapshot(w.work+"/.git"))
	w.run(0, "nsgate", "check", "--runs", "2", "--", "true")
	if now := entries(w.tmp); len(now) != 1 {
		t.Errorf("%q are there, want the directory of the living nsgate", now)
	}
	os.WriteFile(filepath.Join(w.work, "go"), nil, 0o644)
	if code := living.wait(); code != 0 {
		t.Errorf("the living one ends with %d:\n%s", code, living.said())
	}
	w.gone()
}

// A baseline is the old or the new one and a report is whole or absent, whenever nsgate is killed. The kills fall at
// all points of nsgate's work, a little later each time.
func TestKillWhileWriting(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.work, ".nsgate", "default", "nvidia-h200")
	record := []string{"record", "--from", w.get("H200") + "/sessions/kernels-b/nvidia-h200"}
	begun := time.Now()
	w.run(0, "nsgate", "record", "--from", w.get("KERNELS")+"/base")
	w.run(0, "nsgate", record...)
	took := time.Since(begun) / 2
	os.RemoveAll(filepath.Join(w.work, ".nsgate"))
	old, written := 0, 0
	kills := 16
	if !full() {
		kills = 8
	}
	for i := range kills {
		if i == kills/2 { // from now on there is a baseline
			os.RemoveAll(filepath.Join(w.work, ".nsgate"))
			w.run(0, "nsgate", "record", "--from", w.get("KERNELS")+"/base")
			old = 1
		}
		j := w.start("nsgate", record...)
		time.Sleep(took * time.Duration(i%(kills/2)+1) / time.Duration(kills/2))
		j.cmd.Process.Kill()
		j.wait()
		sessions, err := committed(w)
		switch {
		case err == nil && len(sessions) == old+1:
			written++
		case err == nil && len(sessions) == old:
		default:
			t.Errorf("kill %d: %d sessions, %v", i+1, len(sessions), err)
		}
	}
	t.Logf("%d of %d times the baseline was written before the kill", written, kills)
	w.run(0, "nsgate", record...)
	for _, name := range entries(dir) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s is left in the baseline", name)
		}
	}

	formats := []string{"json", "html", "junit", "markdown"}
	compare := []string{"compare", w.get("KERNELS") + "/base", w.get("KERNELS") + "/saxpy_1.05"}
	for _, f := range formats {
		compare = append(compare, "--report", f+"="+filepath.Join(w.work, "reports", f))
	}
	reports := filepath.Join(w.work, "reports")
	os.Mkdir(reports, 0o755)
	begun = time.Now()
	w.run(1, "nsgate", compare...)
	took = time.Since(begun)
	whole := snapshot(reports)
	for i := range kills / 2 {
		for _, f := range formats {
			os.Remove(filepath.Join(reports, f))
		}
		j := w.start("nsgate", compare...)
		time.Sleep(took * time.Duration(i+1) / time.Duration(kills/2))
		j.cmd.Process.Kill()
		j.wait()
		for _, f := range formats {
			name := filepath.Join(reports, f)
			text, err := os.ReadFile(name)
			if err == nil && string(text) != whole[name] {
				t.Errorf("kill %d: half a report: %s has %d bytes of %d", i+1, f, len(text), len(whole[name]))
			}
		}
	}
	w.gone()
}

// On a disk without room nsgate says which directory is full and what to do, gives no verdict, and leaves no half file.
// A file system of its own is needed, or a limit to the size of files, which every system knows.
func TestFull(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	const (
		private = `the private directory: .*(no space left on device|file too large); set TMPDIR to a directory that can be written and has room`
		session = `NO VERDICT(.|\n)*no\s+room\s+is\s+left\s+in\s+the\s+directory\s+for\s+temporary\s+files(.|\n)*set TMPDIR to a directory that has some`
		base    = `no baseline can be written to .*: (no space left on device|file too large); what was there is unchanged: make room`
		report  = `--report: reports/r.json cannot be written: (no space left on device|file too large); make room in reports`
	)
	tests := []struct {
		name   string
		size   string // of the file system that is mounted on dir; "" for a limit to the size of files
		dir    string
		limit  string // in blocks of 512 bytes
		code   int
		says   string
		nsgate string
	}{
		{"spec", "4k", "../tmp", "", 2, private, `check -- true`},
		{"events", "8k", "../tmp", "", 3, session, `check -- true`},
		{"export", "64k", "../tmp", "", 3, session, `check -- true`},
		{"workload", "256k", "../tmp", "", 3, session,
			`check -- sh -c 'head -c 400000 /dev/zero >$TMPDIR/x; sleep 1; rm $TMPDIR/x; kill -SEGV $$'`},
		{"merged", "256k", "../tmp", "", 3, session, `check -- true`},
		{"baseline", "4k", "new", "", 2, base, `record --baseline new --from $KERNELS/base`},
		{"grown baseline", "16k", "old", "", 2, base,
			`record --baseline old --from $H200/sessions/kernels-b/nvidia-h200`},
		{"report", "4k", "reports", "", 1, report,
			`compare --report json=reports/r.json $KERNELS/base $KERNELS/saxpy_1.05`},
		{"kept", "4k", "kept", "", 2, `the profiles cannot be kept: .*no space left on device; name a directory`,
			`check --keep-profiles kept -- true`},
		{"owner", "", "", "0", 2, private, `check -- true`},
		{"limited events", "", "", "2", 3, session, `check -- true`},
		{"limited export", "", "", "200", 3, session, `check -- true`},
		{"limited baseline", "", "", "1", 2, base, `record --baseline old --from $H200/sessions/kernels-b/nvidia-h200`},
		{"limited report", "", "", "1", 1, report,
			`compare --report json=reports/r.json $KERNELS/base $KERNELS/saxpy_1.05`},
		{"printed", "", "", "", 2, `write /dev/stdout: no space left on device`,
			`compare $KERNELS/base $KERNELS/base >/dev/full`},
		{"a device", "", "", "", 2, `--report: /dev/full cannot be written`,
			`compare --report json=/dev/full $KERNELS/base $KERNELS/base`},
	}
	seed := newWorld(t)
	seed.run(0, "sh", "-ec", `nsgate record --from $KERNELS/base; cp -r .nsgate seed; mkdir old new reports kept`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set("PADDING", strings.Repeat("x", 8<<10)) // of the report
			w.like(seed)
			limit := ""
			if tt.limit != "" {
				limit = "ulimit -f " + tt.limit + "; "
			}
			command := `sums() { find old -type f -exec cksum {} + | sort; }; cp -r seed/. old; sums >before; ` +
				limit + "nsgate " +
				tt.nsgate +
				`; status=$?; find reports kept new ../tmp -type f; sums | cmp -s - before || echo changed; exit $status`
			var j *job
			if tt.size == "" {
				j = w.start("sh", "-c", command)
			} else {
				j = w.mounted(t, `mount -t tmpfs -o mode=700,size=`+tt.size+` tmpfs `+tt.dir+`; `+command)
			}
			if code := j.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, j.said())
			}
			j.says(tt.says)
			for line := range strings.Lines(j.stdout.String()) {
				for _, dir := range []string{"reports/", "kept/", "new/", "../tmp/", "changed"} {
					if strings.HasPrefix(line, dir) {
						t.Errorf("left behind: %s", line)
					}
				}
			}
			w.gone()
		})
	}
}

// mounted runs shell code that may mount file systems for itself alone. The test is skipped where this is not allowed.
func (w *world) mounted(t *testing.T, script string) *job {
	t.Helper()
	args := []string{"-m", "sh", "-c", "mount -t tmpfs tmpfs ../tmp && umount ../tmp || exit 99; " + script}
	if os.Geteuid() != 0 {
		args = append([]string{"-U", "-r"}, args...)
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("there is no unshare to mount a file system with")
	}
	j := w.start("unshare", args...)
	if code := j.wait(); code == 99 || strings.HasPrefix(j.stderr.String(), "unshare:") {
		t.Skip("file systems cannot be mounted here: ", j.stderr.String())
	}
	return j
}

// Missing write permission is found before the workload runs, and by root on a file system mounted read-only.
func TestReadOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	tests := []struct {
		name, nsgate string
		says         string
		late         bool // the workload has run by then
	}{
		{"baseline", `record --baseline ro/b -- ./app`, `no baseline can be written to ro/b: read-only file system`,
			false},
		{"temporary", `check -- ./app`, `the private directory: .*read-only file system; set TMPDIR`, false},
		{"report", `check --report json=ro/r.json -- ./app`,
			`--report: ro/r.json cannot be written: read-only file system; name another file`, false},
		{"patch", `check --patch ro/p -- ./app`, `--patch: ro/p cannot be written: read-only file system; name another file`,
			false},
		{"kept", `check --keep-profiles ro/k -- ./app`,
			`the profiles cannot be kept: .*read-only file system; name a directory`, false},
		{"below a file", `record --baseline app/b -- ./app`, `no baseline can be written to app/b: not a directory`,
			false},
		{"report below a file", `check --report html=app/r -- ./app`,
			`--report: app/r cannot be written: not a directory`, false},
		{"no directory", `check --report html=none/r -- ./app`,
			`--report: none/r cannot be written: no such file or directory; make the directory none first`, false},
		{"accepted", `accept --workload default --baseline ro/b --reason x report.json`,
			`no baseline can be written to ro/b/default/nvidia-h200: read-only file system`, false},
		{"outputs", `check -- ./app`, `cannot write the outputs of GitHub Actions: read-only file system`, true},
	}
	seed := newWorld(t)
	seed.script("app", "touch $WORK/ran")
	seed.run(0, "sh", "-c", `nsgate record --from $KERNELS/base && mkdir ro &&
		{ nsgate compare -q --report json=report.json $KERNELS/base $KERNELS/saxpy_1.05; test $? = 1; }`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.like(seed)
			before := snapshot(w.work)
			script := "nsgate " + tt.nsgate
			switch tt.name {
			case "temporary":
				script = "TMPDIR=$PWD/ro " + script
			case "outputs":
				script = "GITHUB_ACTIONS=true GITHUB_OUTPUT=ro/o GITHUB_STEP_SUMMARY=ro/s " + script
			}
			j := w.mounted(t, "mount -t tmpfs -o ro tmpfs ro; "+script)
			if code := j.wait(); code != 2 {
				t.Errorf("exit code %d, want 2\n%s", code, j.said())
			}
			j.says(tt.says)
			if w.exists("ran") != tt.late {
				t.Errorf("the workload ran: %v, want %v", w.exists("ran"), tt.late)
			}
			os.Remove(filepath.Join(w.work, "ran"))
			w.same("the files", before, snapshot(w.work))
			w.gone()
		})
	}
}

// committed are the sessions of the baseline that a world without a name has; none where there is no baseline.
func committed(w *world) ([]model.Session, error) {
	baselines, err := app.ReadBaselines(w.Context(), filepath.Join(w.work, app.DefaultRoot), "default")
	if err != nil || len(baselines) == 0 {
		return nil, err
	}
	return baselines[0].Sessions, nil
}

// Two records at the same time both count, and who reads meanwhile reads a whole baseline.
func TestTwoRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts := []string{"a", "b", "e", "f"}
	var jobs []*job
	for _, host := range hosts {
		jobs = append(jobs, w.start("nsgate", "record", "--from",
			w.get("H200")+"/sessions/kernels-"+host+"/nvidia-h200"))
	}
	var reader sync.WaitGroup
	ended := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if _, err := committed(w); err != nil {
				t.Errorf("a reader finds half a baseline: %v", err)
				return
			}
		}
	})
	for _, j := range jobs {
		if code := j.wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, j.said())
		}
	}
	close(ended)
	reader.Wait()
	sessions, err := committed(w)
	if err != nil || len(sessions) != len(hosts) {
		t.Errorf("%d sessions, want %d: %v", len(sessions), len(hosts), err)
	}

	// So does a check, and it judges by one of them.
	writer := w.start("sh", "-c",
		`for i in 1 2 3 4; do nsgate record --replace --from $KERNELS/base && nsgate record --from $H200/sessions/kernels-b/nvidia-h200; done`)
	for range 4 {
		w.run(0, "nsgate", "check", "--from", w.get("KERNELS")+"/unchanged")
	}
	if code := writer.wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, writer.said())
	}
}

// A GPU is busy while another nsgate measures on it.
func TestTwoOnOneGPU(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	w := newWorld(t)
	w.set("NSGATE_FAKE_GPU", "shared")
	w.set("NSGATE_FAKE_GPU_APPS", filepath.Join(w.work, "apps"))
	w.script("app", "echo $$ >>$WORK/apps; "+waits)
	w.run(0, "nsgate", "record", "--from", w.get("KERNELS")+"/base")
	first := w.start("nsgate", "check", "--runs", "2", "--", "./app")
	w.until("the run", func() bool { return w.exists("pid") })
	w.run(3, "nsgate", "check", "--", "true").says(`NO VERDICT +GPU 0 is busy: another process uses it \(sh, pid \d+\)`)
	os.WriteFile(filepath.Join(w.work, "go"), nil, 0o644)
	if code := first.wait(); code != 0 {
		t.Errorf("the first one ends with %d: %s", code, first.said())
	}
	w.gone()
}

// Files and directories that a workload or a cleaner removes end in a verdict or a sentence, and leave no process.
func TestRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	const private = `NO VERDICT +the private directory of the session was removed while it\s+measured`
	tests := []struct {
		name, workload string
		args           []string
		code           int
		says           string
	}{
		{"private directory", `rm -rf ../tmp/nsgate-*`, nil, 3, private},
		{"private directory of unprofiled runs", `rm -rf ../tmp/nsgate-*`, []string{"--unprofiled", "2"}, 3, private},
		{"private directory, and the run goes on", `rm -rf ../tmp/nsgate-*; exec sleep 600`, nil, 3, private},
		{"private directory, and the unprofiled run goes on", `test -n "$NSYS_PROFILING_SESSION_ID" || ` +
			`{ rm -rf ../tmp/nsgate-*; exec sleep 600; }`, []string{"--unprofiled", "2"}, 3, private},
		// The fake nsys finds the runs in the journal, so that it records others.
		{"journal", `rm -f ../tmp/nsgate-*/journal`, nil, 3, `NO VERDICT`},
		{"journal of two runners", `rm -f ../tmp/nsgate-*/journal`, []string{"--unprofiled", "2"}, 3, `NO VERDICT`},
		{"journal that is a pipe", `for d in ../tmp/nsgate-*; do rm -f $d/journal; mkfifo $d/journal; done`, nil, 3,
			`NO VERDICT`},
		{"journal of two runners that is a pipe",
			`for d in ../tmp/nsgate-*; do rm -f $d/journal; mkfifo $d/journal; done`,
			[]string{"--unprofiled", "2"}, 3, `NO VERDICT`},
		{"journal that is a directory", `for d in ../tmp/nsgate-*; do rm -rf $d/journal; mkdir $d/journal; done`,
			[]string{"--unprofiled", "2"}, 3, `NO VERDICT`},
		{"journal that is a link", `for d in ../tmp/nsgate-*; do rm -f $d/journal; ln -s /dev/zero $d/journal; done`,
			[]string{"--unprofiled", "2"}, 3, `NO VERDICT`},
		{"journal that has no end",
			`for d in ../tmp/nsgate-*; do dd if=/dev/zero of=$d/journal bs=1M count=300 2>&-; done`,
			[]string{"--unprofiled", "2"}, 3, `NO VERDICT`},
		{"private directory that is moved", `for d in ../tmp/nsgate-*; do mv $d ../tmp/moved; done`, nil, 3, private},
		{"private directory that is moved by the unprofiled run", `test -n "$NSYS_PROFILING_SESSION_ID" ||
			{ for d in ../tmp/nsgate-*; do mv $d ../moved; done; }`, []string{"--unprofiled", "2"}, 3, private},
		{"private directory that is moved, and another in its place", `for d in ../tmp/nsgate-*; do mv $d ../tmp/moved;
			cp -r ../tmp/moved $d; done`, nil, 3, `NO VERDICT`},
		{"lifeline", `rm -f ../tmp/nsgate-*/lifeline`, []string{"--unprofiled", "2"}, 0, `PASS`},
		{"specification", `rm -f ../tmp/nsgate-*/spec.json`, []string{"--unprofiled", "2"}, 0, `PASS`},
		{"owner", `rm -f ../tmp/nsgate-*/owner.json`, nil, 0, `PASS`},
		{"temporary files", `rm -rf ../tmp; mkdir -m 700 ../tmp`, []string{"--unprofiled", "2"}, 3, private},
		{"baseline", `rm -rf .nsgate`, nil, 0, `PASS`},
		{"working directory", `cd ..; rm -rf work`, nil, 4, `could not be started in run 2 of 2`},
	}
	seed := newWorld(t)
	seed.run(0, "nsgate", "record", "--from", seed.get("KERNELS")+"/base")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.like(seed)
			args := append([]string{"check", "--runs", "2"}, tt.args...)
			j := w.start("nsgate", append(args, "--", "sh", "-c", tt.workload)...)
			if code := j.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, j.said())
			}
			j.says(tt.says)
			w.gone()
			if _, err := os.Stat(w.work + "/../moved"); err == nil {
				t.Error("a private directory that was moved is left")
			}
		})
	}
}

// A link in place of the private directory is removed, and not what it leads to; a directory by such a name whose owner
// is written in a pipe is no reason to wait.
func TestReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(0, "nsgate", "record", "--from", w.get("KERNELS")+"/base")
	for _, how := range []string{"--unprofiled=0", "--unprofiled=2"} {
		w.run(3, "nsgate", "check", "--runs", "2", how, "--", "sh", "-c", `mkdir -p kept; echo kept >kept/file
			for d in ../tmp/nsgate-*; do rm -rf $d; ln -s "$PWD/kept" $d; done`)
		if !w.exists("kept/file") {
			t.Error("what a link leads to is gone")
		}
		w.gone()
	}
	// A killed nsgate leaves a directory with another name to its guard.
	j := w.start("nsgate", "record", "--runs", "2", "--", "sh", "-c", waits)
	w.until("the run", func() bool { return w.exists("pid") })
	j.cmd.Process.Signal(syscall.SIGSTOP) // nsgate ends a run whose directory is gone
	w.run(0, "sh", "-c", `for d in ../tmp/nsgate-*; do mv $d ../tmp/moved; done`)
	j.cmd.Process.Kill()
	j.wait()
	w.gone()
	w.run(0, "sh", "-c", `mkdir -m 700 ../tmp/nsgate-other; mkfifo ../tmp/nsgate-other/owner.json`)
	w.run(0, "nsgate", "check", "--runs", "2", "--", "true")
}

// A killed nsgate ends a daemon of the workload that has cleared its environment, also where the private directory is
// gone by then.
func TestKillDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	const daemon = `env -i PATH="$PATH" setsid sleep 300 >/dev/null 2>&1 & echo $! >$WORK/daemon; `
	for name, tt := range map[string]struct {
		workload string
		args     []string
	}{
		"profiled": {daemon + waits, nil},
		"unprofiled": {`test -n "$NSYS_PROFILING_SESSION_ID" && exit; ` + daemon + waits,
			[]string{"--unprofiled", "2"}},
		"without a private directory": {daemon + waits, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(0, "nsgate", "record", "--from", w.get("KERNELS")+"/base")
			args := append([]string{"check", "--runs", "2"}, tt.args...)
			j := w.start("nsgate", append(args, "--", "sh", "-c", tt.workload)...)
			w.until("the run", func() bool { return w.exists("pid") })
			text, _ := os.ReadFile(filepath.Join(w.work, "daemon"))
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err, j.said())
			}
			if name == "without a private directory" {
				j.cmd.Process.Signal(syscall.SIGSTOP) // nsgate ends a run whose directory is gone
				w.removePrivate()
			}
			j.cmd.Process.Kill()
			j.wait()
			w.until("the end of the daemon", func() bool { return syscall.Kill(pid, 0) != nil })
			w.gone()
		})
	}
}

// The guard ends what a killed nsgate and its runner leave, although the private directory is gone.
func TestGuardWithoutDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	w := newWorld(t)
	script := `setsid sleep 300 & ` + waits
	j := w.start("nsgate", "record", "--runs", "2", "--", "sh", "-c", script)
	w.until("the run", func() bool { return w.exists("pid") })
	var killed []int
	for pid, command := range w.find("") {
		if !strings.Contains(command, "--guard") && !strings.HasPrefix(command, "sleep 300") {
			syscall.Kill(pid, syscall.SIGSTOP) // who sees another one die clears up
			killed = append(killed, pid)
		}
	}
	if len(w.find("sleep 300")) == 0 || len(w.find("--guard")) == 0 {
		t.Fatalf("there are only %v", w.find(""))
	}
	w.removePrivate()
	for _, pid := range killed {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	j.wait()
	w.gone()
}

// removePrivate removes the private directories of all sessions.
func (w *world) removePrivate() {
	w.Helper()
	for _, name := range entries(w.tmp) {
		if err := os.RemoveAll(filepath.Join(w.tmp, name)); err != nil {
			w.Fatal(err)
		}
	}
}
