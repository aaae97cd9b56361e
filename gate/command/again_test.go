package command_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/judge/decide"
	"github.com/nsgate/nsgate/thresholds"
)

// TestResolvedJudges holds that the top of a policy file cannot be passed to the judgement.
func TestResolvedJudges(t *testing.T) {
	policy, _ := reflect.TypeFor[decide.Input]().FieldByName("Policy")
	for _, top := range []reflect.Type{reflect.TypeFor[thresholds.Policy](), reflect.TypeFor[*thresholds.Policy]()} {
		if top.ConvertibleTo(policy.Type) {
			t.Errorf("decide.Input takes a %s", top)
		}
	}
}

// again are settings by key: the file of the gate with each, and the same as a flag or variable if there is one. Every
// file has a workload with a threshold of its own, stricter than that at the top.
var again = []struct{ key, value, rule string }{
	{"threshold", "0.5%", ""}, {"threshold", "10%", ""}, {"step_threshold", "1%", ""}, {"step_threshold", "20%", ""},
	{"warmup_threshold", "90%", ""}, {"outside_threshold", "1%", ""}, {"alpha", "0.1%", ""}, {"alpha", "20%", ""},
	{"cost", "0.01%", ""}, {"cost", "5%", ""}, {"session_sd", "0.1%", ""}, {"undecided", "fail", ""},
	{"max_age", "1d", ""}, {"shadow", "true", ""},
	{"max", "", `kernel = "saxpy"` + "\nmax = \"10%\""}, {"floor", "", `kernel = "saxpy"` + "\nfloor = \"10us\""},
	{"at_most", "", `kernel = "saxpy"` + "\nmetric = \"time\"\nat_most = \"80us\""},
	{"severity", "", `kernel = "saxpy"` + "\nseverity = \"warn\""},
	{"severity", "", `kernel = "s*"` + "\nseverity = \"ignore\""},
	{"drift", "", `kernel = "saxpy"` + "\nmax = \"2%\"\ndrift = \"5%\""},
}

// TestJudgedAgain judges by each setting from each source, saves the report and judges that again under a limit that
// held: verdict, exit code, reason, findings and warnings are the same.
func TestJudgedAgain(t *testing.T) {
	t.Parallel()
	kernels, err := filepath.Abs("../../testdata/h200/kernels")
	if err != nil {
		t.Fatal(err)
	}
	for i, set := range again {
		for k, source := range []string{"file", "flag", "variable"} {
			if !full() && (i+k)%3 > 0 {
				continue
			}
			flag := "--" + strings.ReplaceAll(set.key, "_", "-")
			if source != "file" && !strings.Contains(" --threshold --step-threshold --alpha --cost --undecided ",
				" "+flag+" ") {
				continue
			}
			t.Run(set.key+"="+set.value+" by "+source, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				run := func(variable string, args ...string) (int, string) {
					cmd := exec.Command("nsgate", args...)
					cmd.Dir, cmd.Env = dir, append(os.Environ(), variable)
					out, _ := cmd.CombinedOutput()
					return cmd.ProcessState.ExitCode(), string(out)
				}
				top, own := "threshold = \"5%\"\n", "threshold = \"1%\"\n"
				switch {
				case source != "file" || set.value == "":
				case set.key == "threshold":
					own = "threshold = \"" + set.value + "\"\n"
				case set.key == "shadow":
					top += "shadow = true\n"
				default:
					top += set.key + " = \"" + set.value + "\"\n"
				}
				text := top + "[[workload]]\nname = \"other\"\n[[workload]]\nname = \"app\"\n" + own
				if set.rule != "" {
					text += "[[rule]]\n" + set.rule + "\n"
				}
				if err := os.WriteFile(filepath.Join(dir, "nsgate.toml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if code, out := run("", "record", "-w", "app", "--from", filepath.Join(kernels, "base")); code != 0 {
					t.Fatal(out)
				}
				variable := ""
				check := []string{"check", "-w", "app", "--from", filepath.Join(kernels, "saxpy_1.05"), "-o",
					"saved.json"}
				switch source {
				case "flag":
					check = append(check, flag, set.value)
				case "variable":
					variable = "NSGATE_" + strings.ToUpper(set.key) + "=" + set.value
				}
				code, out := run(variable, check...)
				saved := judged(t, filepath.Join(dir, "saved.json"))
				policy := saved["basis"].(map[string]any)["policy"].(map[string]any)
				held := json.Number(policy["alpha"].(json.Number)).String()
				percent := map[string]string{"0.01": "1%", "0.001": "0.1%", "0.2": "20%"}[held]
				flags := [][]string{{"--alpha", percent}, {"--undecided", policy["undecided"].(string)}}
				for _, flags := range flags[len(set.key)%2:][:1] {
					got, said := run("", append([]string{"report", "saved.json", "-o", "again.json"}, flags...)...)
					if got != code {
						t.Errorf("%v: exit %d, judged %d\n%s\n%s", flags, got, code, said, out)
					}
					for key, value := range judged(t, filepath.Join(dir, "again.json")) {
						if was := saved[key]; key != "basis" && !reflect.DeepEqual(was, value) {
							t.Errorf("%v: %s is %v, judged %v", flags, key, value, was)
						}
					}
				}
			})
		}
	}
}

// judged is a saved report without the commands that lead on from it.
func judged(t *testing.T, file string) (r map[string]any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"accept", "next", "reproduce", "calls"} {
		delete(r, key)
	}
	return r
}
