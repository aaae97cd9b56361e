package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/command"
)

// insider is a process of this test binary that runs commands one after the other in the directory and environment of
// each: a command that measures nothing takes less time than the start of its process. It reads files without a
// confined child; TestConfined and the scripts start the command itself.
type insider struct {
	process *exec.Cmd
	to      *json.Encoder
	from    *json.Decoder
	said    bytes.Buffer // its own messages, as of a panic
}

type insideCall struct {
	Dir       string
	Env, Args []string
}

type insideAnswer struct {
	Code     int
	Out, Err string
}

// runsInside reports whether a command starts no program that is measured.
func runsInside(args []string) bool {
	verbs := []string{"compare", "explain", "history", "policy", "report", "show"}
	from := slices.ContainsFunc(args, func(a string) bool { return a == "--from" || strings.HasPrefix(a, "--from=") })
	return len(args) > 0 && !slices.Contains(args, "--") &&
		(slices.Contains(verbs, args[0]) || from && (args[0] == "check" || args[0] == "record"))
}

// newInsider starts one that ends with the test.
func newInsider(t *testing.T) *insider {
	t.Helper()
	x := &insider{process: exec.Command("insider")}
	x.process.Stderr = &x.said
	questions, ask, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, answer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x.process.ExtraFiles = []*os.File{questions, answer}
	x.to, x.from = json.NewEncoder(ask), json.NewDecoder(answers)
	if err := x.process.Start(); err != nil {
		t.Fatal(err)
	}
	questions.Close()
	answer.Close()
	t.Cleanup(func() {
		ask.Close()
		x.process.Wait()
		answers.Close()
	})
	return x
}

// run is the answer to a command. One that takes longer than the limit, or that ends the process, fails the test.
func (x *insider) run(t *testing.T, call insideCall) (out insideAnswer) {
	t.Helper()
	late := time.AfterFunc(limit, func() { x.process.Process.Kill() })
	defer late.Stop()
	if err := x.to.Encode(call); err != nil {
		t.Fatal(err)
	}
	if err := x.from.Decode(&out); err != nil {
		x.process.Wait()
		t.Fatalf("nsgate %q ends its process: %v\n%s", call.Args, err, x.said.String())
	}
	return out
}

// inside is the process.
func inside() int {
	debug.SetGCPercent(800)
	questions, answers := json.NewDecoder(os.NewFile(3, "questions")), json.NewEncoder(os.NewFile(4, "answers"))
	for {
		var call insideCall
		if questions.Decode(&call) != nil {
			return 0
		}
		if err := os.Chdir(call.Dir); err != nil {
			panic(err)
		}
		os.Clearenv()
		for _, v := range call.Env {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
		var out, said bytes.Buffer
		code := command.Main(context.Background(), call.Args, command.Streams{Out: &out, Err: &said})
		if answers.Encode(insideAnswer{code, out.String(), said.String()}) != nil {
			return 1
		}
	}
}
