//go:build linux

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/report"
)

// The secrets in a workload's input and output and in nvidia-smi's data on the machine, which no escaping changes.
const (
	secretEnv    = "xENVIRONMENTx4711"
	secretArg    = "xARGUMENTx4712"
	secretOutput = "xOUTPUTx4713"
	identity     = "xIDENTITYx4714"
	uuid         = "GPU-host-a"
)

// secrets says which of them stand in a text, "" for none.
func secrets(text string) string {
	var found []string
	for _, s := range []string{secretEnv, secretArg, secretOutput, identity, uuid} {
		if strings.Contains(text, s) {
			found = append(found, s)
		}
	}
	return strings.Join(found, " ")
}

// secretive is a world with a secret in the environment and with GitHub, with the files of a seed where there is one.
func secretive(t *testing.T, seed *world) *world {
	w := newWorld(t)
	w.set("SECRET_TOKEN", secretEnv)
	w.set("NSGATE_RUNS", "2")
	w.set("NSGATE_FAKE_BOARD", "692-2G520-0282-001")
	w.set("GITHUB_ACTIONS", "true")
	w.set("GITHUB_WORKSPACE", w.work)
	for _, name := range []string{"OUTPUT", "STEP_SUMMARY", "ENV", "STATE"} {
		w.set("GITHUB_"+name, filepath.Join(w.work, "github."+strings.ToLower(name)))
	}
	w.set("NSGATE_FAKE_NCU", filepath.Join(w.work, "ncu"))
	if seed != nil {
		w.like(seed)
		return w
	}
	w.script("app", "echo "+secretOutput)
	w.script("fails", "echo "+secretOutput+"; exit 3")
	w.script("noisy", "echo "+secretOutput+" >&2; kill -9 $$")
	// The test's own secret files lie outside of the searched directories.
	w.run(0, "sh", "-ec", `mkdir ncu ../bin; mv app fails noisy ../bin; ln -s ../bin/app ../bin/fails ../bin/noisy .
		cp $H200/../ncu/spill.raw.csv ncu/app.csv; git init -q -b main . && git commit -q --allow-empty -m base`)
	return w
}

// Nothing that the workload is given, nothing that it prints and nothing that names the machine reaches a file that
// stays, or the output, with one exception: of a run that failed the output is shown, on standard error.
func TestSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	arg := "--token=" + secretArg
	policy := "[[workload]]\nname = \"default\"\ndir = \"work\"\ncommand = \"./app " + arg + "\"\n"
	tests := []struct {
		name   string
		env    string // a variable more
		args   []string
		code   int
		says   string // in what is said
		output bool   // the workload's output may be shown
	}{
		{"record", "", []string{"record", "--reason", "x", "--", "./app", arg}, 0, ",692-2G520-0282-001,", false},
		{"record counters", "", []string{"record", "--ncu", "--", "./app", arg}, 0, ",ncu 2025.3.1,", false},
		{"record fails", "", []string{"record", "--", "./fails", arg}, 4, "not recorded", true},
		{"pass", "", []string{"check", "--", "./app", arg}, 0, "PASS", false},
		{"fail", "NSGATE_FAKE_PROFILES=saxpy_1.05", []string{"check", "--patch", "p.patch", "--", "./app", arg}, 1,
			"FAIL", false},
		{"explained", "NSGATE_FAKE_PROFILES=spill", []string{"check", "--", "./app", arg}, 1, "why", false},
		{"explained without", "NSGATE_FAKE_NCU_FAULT=permission",
			[]string{"check", "--explain", "always", "--", "./app", arg}, 0, "", false},
		{"undecided", "", []string{"check", "--threshold", "0.05%", "--runs", "2..3", "--undecided=fail", "--", "./app",
			arg}, 3, "", false},
		{"lossy", "NSGATE_FAKE_NSYS_FAULT=importer", []string{"check", "--", "./app", arg}, 3, "NO VERDICT", false},
		{"repeated", "NSGATE_FAKE_NSYS_FAULT=jax-other", []string{"check", "--", "./app", arg}, 3, "without NVTX",
			false},
		{"crash", "NSGATE_FAKE_NSYS_FAULT=crash", []string{"check", "--", "./app", arg}, 3, "NO VERDICT", false},
		{"busy", "NSGATE_FAKE_GPU=busy", []string{"check", "--", "./app", arg}, 3, "busy", false},
		{"workload fails", "", []string{"check", "--", "./fails", arg}, 4, "exited with 3", true},
		{"workload is killed", "", []string{"check", "--", "./noisy", arg}, 4, "was killed (SIGKILL)", true},
		{"no workload", "", []string{"check", "--", "./not-there", arg}, 4, "cannot be run", false},
		{"pair", "", []string{"check", "--paired", "--base-cmd", "./app " + arg, "--", "./app", arg}, 0, "PASS", false},
		{"pair by variable", "NSGATE_BASE_CMD=./app " + arg, []string{"check", "--paired", "--", "./app", arg}, 0,
			"PASS", false},
		{"base fails", "", []string{"check", "--paired", "--base-cmd=./fails " + arg, "--", "./app", arg}, 3,
			"base build", true},
		{"build fails", "", []string{"check", "--paired", "--base-ref", "main", "--build", "exit 1; echo " + secretArg,
			"--", "./app", arg}, 3,
			"the build of the base main failed", false},
		{"argument of nsys", "", []string{"check", "--nsys-arg=--env-var=TOKEN=" + secretArg, "--nsys-arg", "-e",
			"--nsys-arg", "TOKEN=" + secretArg, "--", "./app", arg}, 0, "PASS", false},
		{"policy", policy, []string{"check"}, 0, "PASS", false},
		{"calibrate", "", []string{"calibrate", "--runs", "4", "--", "./app", arg}, 0, "", false},
		{"show", "", []string{"show", "--format", "json", ".nsgate/default/nvidia-h200"}, 0, "nsgate.summary/1", false},
		{"doctor", "", []string{"doctor"}, -1, "", false},
	}
	seed := secretive(t, nil)
	seed.run(0, "nsgate", "record", "-q", "--from", seed.get("KERNELS")+"/base")
	formats := report.Formats(report.Report)
	for i, tt := range tests {
		if !full() && i%3 == 2 {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := secretive(t, seed)
			if strings.HasPrefix(tt.name, "record") && tt.code == 0 {
				os.RemoveAll(filepath.Join(w.work, ".nsgate"))
			}
			args := tt.args
			if args[0] == "check" {
				// The format and the amount of output change from test to test; every format is written.
				if tt.says == "" || i%2 == 0 {
					args = append([]string{"check", "--format", formats[i%len(formats)]}, args[1:]...)
				}
				if i%3 == 0 {
					args = append([]string{"check", "-v"}, args[1:]...)
				}
				for _, f := range formats {
					args = append([]string{"check", "--report", f + "=report." + f}, args[1:]...)
				}
			}
			name, value, set := strings.Cut(tt.env, "=")
			switch {
			case tt.env == policy:
				file := filepath.Join(w.work, "..", "nsgate.toml")
				if err := os.WriteFile(file, []byte(policy), 0o644); err != nil {
					t.Fatal(err)
				}
				args = append([]string{"check", "--policy", "../nsgate.toml", "--baseline", ".nsgate"}, args[1:]...)
			case name == "NSGATE_FAKE_PROFILES":
				w.set(name, w.get("KERNELS")+"/"+value)
			case set:
				w.set(name, value)
			}
			j := w.start("nsgate", args...)
			if code := j.wait(); tt.code >= 0 && code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, j.said())
			}
			files := snapshot(w.work)
			everything := j.said()
			for _, text := range files {
				everything += text
			}
			if !strings.Contains(everything, tt.says) {
				t.Errorf("%q is not said:\n%s", tt.says, j.said())
			}
			said := j.stderr.String()
			if tt.output {
				if !strings.Contains(said, secretOutput) {
					t.Errorf("the output of the run that failed is not shown:\n%s", said)
				}
				said = strings.ReplaceAll(said, secretOutput, "")
			}
			if s := secrets(j.stdout.String()); s != "" {
				t.Errorf("standard output holds %s:\n%s", s, j.stdout.String())
			}
			if s := secrets(said); s != "" {
				t.Errorf("standard error holds %s:\n%s", s, said)
			}
			for name, text := range files {
				if s := secrets(text); s != "" {
					t.Errorf("%s holds %s", filepath.Base(name), s)
				}
				if s := secrets(name); s != "" {
					t.Errorf("the name %s holds %s", name, s)
				}
			}
			written := 0
			for name, text := range files {
				if base := filepath.Base(name); strings.HasPrefix(base, "report.") ||
					strings.HasPrefix(base, "github.") {
					written++
					if text == "" {
						t.Errorf("%s is empty", base)
					}
				}
			}
			if args[0] == "check" && written < len(formats)+2 {
				t.Errorf("only %d reports were written: %q", written, entries(w.work))
			}
			w.gone()
		})
	}
}

// The test above would see a leak: the raw report holds all three, or the workload is not given them. It is kept where
// the user asks for it, for the user alone. And --dry-run, which is asked for the command lines, shows them.
func TestSecretsAreThere(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	w := secretive(t, nil)
	w.run(0, "nsgate", "record", "--runs", "2", "--keep-profiles", "kept", "--", "sh", "-c", "env; echo $0; ./app",
		secretArg)
	if s := secrets(w.run(0, "nvidia-smi", "-q", "-x").said()); s != identity+" "+uuid {
		t.Errorf("nvidia-smi says %q", s)
	}
	kept := filepath.Join(w.work, "kept", "session-001.nsys-rep")
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), secretEnv) {
		t.Error("the raw report does not hold the environment")
	}
	for file, mode := range map[string]os.FileMode{kept: 0o600, filepath.Dir(kept): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v (%v)", file, info.Mode().Perm(), mode, err)
		}
	}
	full := w.run(0, "sh", "-c",
		"nsys export --type sqlite --output=full.sqlite kept/session-001.nsys-rep && cat full.sqlite")
	if secrets(full.said()) != secretEnv+" "+uuid {
		t.Errorf("a full export holds %q", secrets(full.said()))
	}
	j := w.run(4, "nsgate", "check", "--allow-busy", "--baseline", ".nsgate", "--", "sh", "-c", "env; echo $0; ./fails",
		secretArg)
	if s := secrets(j.stderr.String()); s != secretEnv+" "+secretArg+" "+secretOutput {
		t.Errorf("the workload has printed %q of what it is given", s)
	}
	j = w.run(0, "nsgate", "record", "--dry-run", "--", "./app", secretArg)
	if s := secrets(j.said()); s != secretArg {
		t.Errorf("--dry-run shows %q", s)
	}
}
