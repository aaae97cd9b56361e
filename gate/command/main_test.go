package command_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// raceFlags are the flags that build nsgate under the race detector, empty without it.
var raceFlags []string

// TestMain builds nsgate and the fake profiler tools once and puts them on the PATH, so that every test of this package
// runs the command as users do.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "fakeserver":
		os.Exit(fakeServer(os.Args[1:]))
	case "insider":
		os.Exit(inside())
	}
	flag.Set("test.parallel", "16") // the scripts wait more than they compute; the command line may say otherwise
	os.Exit(withTools(m))
}

func withTools(m *testing.M) int {
	dir, err := os.MkdirTemp(inMemory(), "tools")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o700); err != nil {
		panic(err)
	}
	for _, command := range []string{"cmd/nsgate", "testdata/tools/nsys", "testdata/tools/ncu",
		"testdata/tools/nvidia-smi"} {
		var flags []string
		if command == "cmd/nsgate" {
			flags = raceFlags
		}
		// Of go run, unlike go build, the build cache keeps the executable.
		run := exec.Command("go", slices.Concat([]string{"run", "-exec", "cp"}, flags,
			[]string{"../../" + command, tools})...)
		// As in a release; a static executable starts faster. The fake nsys holds SQLite, which the tests hold as well:
		// built as they are, it is compiled once.
		if flags == nil && !strings.HasSuffix(command, "/nsys") {
			run.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		if out, err := run.CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	for _, name := range []string{"fakeserver", "insider"} {
		if self, err := os.Executable(); err != nil || os.Symlink(self, filepath.Join(tools, name)) != nil {
			panic("the tests cannot be linked as " + name)
		}
	}
	if !full() && raceFlags == nil { // a tenth less processor time for thousands of short processes
		os.Setenv("GOMAXPROCS", "1")
	}
	os.Setenv("HOST_ROOT", filepath.Join(dir, "no host")) // the load of this machine is no part of a test
	os.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// full reports whether all cases run, as in CI: otherwise scripts stop before their variations, and some tests take a
// part of their cases.
func full() bool { return os.Getenv("NSGATE_TEST_FULL") != "" }

// TestScripts runs the command as users do: testdata/script has one file a topic.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, "testdata/script"))
}

// TestExamples runs the projects of testdata/examples, each by the script of its name.
func TestExamples(t *testing.T) {
	t.Parallel()
	const dir = "../../testdata/examples"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name()+".txtar")); e.IsDir() && err != nil {
			t.Errorf("nothing runs the example %s: %v", e.Name(), err)
		}
	}
	testscript.Run(t, params(t, dir))
}

func params(t *testing.T, dir string) testscript.Params {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			recordings := filepath.Join(root, "testdata", "h200")
			e.Setenv("H200", recordings)
			e.Setenv("KERNELS", filepath.Join(recordings, "kernels"))
			e.Setenv("H100", filepath.Join(root, "testdata", "h100"))
			e.Setenv("NCU", filepath.Join(root, "testdata", "ncu"))
			e.Setenv("PAIRS", filepath.Join(root, "testdata", "pairs"))
			e.Setenv("ROOT", root)
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			e.Setenv("GIT_TEMPLATE_DIR", "") // examples of hooks, which git would copy to each of the many repositories
			e.Setenv("COLUMNS", "100")
			e.Setenv("GOMAXPROCS", os.Getenv("GOMAXPROCS"))
			e.Setenv("HOST_ROOT", filepath.Join(e.WorkDir, "host"))
			e.Setenv("NSGATE_FAKE_AGENT", "none") // TestKill and its neighbours look for processes that are left
			return os.Mkdir(filepath.Join(e.WorkDir, "tmp"), 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name != "full" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return full(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "empty": empty, "edit": edit,
			"unpacked": unpacked, "forge": forge, "valid": valid, "jax": jax, "port": port, "gone": gone},
	}
}

// exits runs a command and wants one exact exit code: exits 3 nsgate compare a b. Its output is there for stdout and
// stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exit code: %v", err)
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if out := ts.ReadFile("stdout") + ts.ReadFile("stderr"); strings.Contains(out, "goroutine ") ||
		strings.Contains(out, "panic:") {
		ts.Fatalf("a stack trace was printed")
	}
	advised(ts, args[1:], ts.ReadFile("stdout"))
}

// edit copies exports of nsys and runs SQL on the copies: edit SCRIPT.sql TARGET SOURCE, where TARGET is a file, or a
// directory for the exports of a directory.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit SCRIPT.sql TARGET SOURCE")
	}
	script, target, sources := ts.ReadFile(args[0]), ts.MkAbs(args[1]), []string{ts.MkAbs(args[2])}
	if found, _ := filepath.Glob(filepath.Join(sources[0], "*.sqlite")); len(found) > 0 {
		sources = found
		ts.Check(os.Mkdir(target, 0o755))
	}
	for _, source := range sources {
		file := target
		if len(sources) > 1 {
			file = filepath.Join(target, filepath.Base(source))
		}
		ts.Check(os.WriteFile(file, []byte(ts.ReadFile(source)), 0o644))
		db, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
		ts.Check(err)
		ts.Check(sqlitex.ExecuteScript(db, script, nil))
		ts.Check(db.Close())
	}
}

// forge changes text in the files of a baseline and gives them the names that go with it: forge DIR OLD NEW.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: forge DIR OLD NEW")
	}
	dir := ts.MkAbs(args[0])
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		old := ts.ReadFile(file)
		text := strings.ReplaceAll(old, args[1], args[2])
		start, _, ok := strings.Cut(e.Name(), "-")
		if text == old || !ok {
			continue
		}
		sum := sha256.Sum256([]byte(text))
		ts.Check(os.WriteFile(filepath.Join(dir, start+"-"+hex.EncodeToString(sum[:4])+".csv"), []byte(text), 0o644))
		ts.Check(os.Remove(file))
	}
}

// valid wants a file that follows a schema of the manual and names it: valid SCHEMA FILE.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: valid SCHEMA FILE")
	}
	if err := validate(args[0], []byte(ts.ReadFile(args[1]))); err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// jax writes archives of tables of nsys-jax for five runs, with one operation slower by a factor: jax DIR FACTOR
// [RANKS].
func jax(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jax DIR FACTOR [RANKS]")
	}
	slower, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	ranks, _ := strconv.Atoi(append(args, "1")[2])
	ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o755))
	first := 0 // or the runs of two directories were the same
	for _, c := range args[0] {
		first += int(c)
	}
	for run := range 5 {
		data, err := exporttest.Jax(first+run, ranks, slower)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), fmt.Sprintf("run.%03d.zip", run)), data, 0o644))
	}
}

// empty wants directories without any entry.
func empty(ts *testscript.TestScript, neg bool, args []string) {
	for _, dir := range args {
		entries, err := os.ReadDir(ts.MkAbs(dir))
		ts.Check(err)
		if (len(entries) == 0) == neg {
			ts.Fatalf("%s has %d entries", dir, len(entries))
		}
	}
}

// unpacked lists the sessions in saved reports, so that a script can edit them.
func unpacked(ts *testscript.TestScript, _ bool, files []string) {
	packed := regexp.MustCompile(`"head_sessions": ?"([^"]*)"`)
	for _, file := range files {
		file = ts.MkAbs(file)
		text, err := os.ReadFile(file)
		ts.Check(err)
		text = packed.ReplaceAllFunc(text, func(field []byte) []byte {
			in := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed.FindSubmatch(field)[1]))
			z, err := gzip.NewReader(in)
			ts.Check(err)
			list, err := io.ReadAll(z)
			ts.Check(err)
			return append([]byte(`"head_sessions": `), list...)
		})
		var out bytes.Buffer
		ts.Check(json.Indent(&out, text, "", "  "))
		ts.Check(os.WriteFile(file, out.Bytes(), 0o600))
	}
}
