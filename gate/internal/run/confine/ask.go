package confine

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// question is the input of a child, on its standard input.
type question[Q any] struct {
	Limits  Limits
	Request Q
}

// reply is the output of a child, on its standard output: why it is not confined, an answer, an error, or nothing at
// the end.
type reply[A any] struct {
	Unconfined string
	Answer     *A
	Failed     *failure
}

// failure is an error of the child, with the refusal and the error of the system in it.
type failure struct {
	Text    string
	Refusal *model.Refusal
	Errno   syscall.Errno // 0 for none
}

func (f *failure) Error() string { return f.Text }

// Is and As see through to these two. A list of errors to unwrap would be that of several failures.
func (f *failure) Is(target error) bool {
	return f.Refusal != nil && errors.Is(f.Refusal, target) || f.Errno != 0 && errors.Is(f.Errno, target)
}

func (f *failure) As(target any) bool {
	return f.Refusal != nil && errors.As(f.Refusal, target) || f.Errno != 0 && errors.As(f.Errno, target)
}

// readers are the functions that read files of others, by their modes.
var readers = map[string]reader{}

type reader struct {
	read   any        // as [Register] takes it
	answer func() int // is the child that calls it
}

// Register names a method of a request that reads files of others: mode is the argument after [proc.HiddenArg] that
// makes this binary a child which calls it.
func Register[Q, A any](mode string, read func(request Q, ctx context.Context, send func(A) error) error) {
	readers[mode] = reader{read, func() int { return answer(read) }}
}

// Child is the exit code of this process as the child of a mode, not ok where no function has that.
func Child(mode string) (code int, ok bool) {
	r, ok := readers[mode]
	if ok {
		code = r.answer()
	}
	return code, ok
}

// answer is the child of [Ask]: it confines itself, reads what it is asked for, and sends the answers. It returns the
// exit code of the process. Signals of a terminal are left to the parent, whose end it shares.
func answer[Q, A any](read func(Q, context.Context, func(A) error) error) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var q question[Q]
	if err := gob.NewDecoder(os.Stdin).Decode(&q); err != nil {
		fmt.Fprintln(os.Stderr, "nsgate: this mode is for nsgate itself")
		return 2
	}
	input.BoundMemory()
	out := gob.NewEncoder(os.Stdout)
	var last reply[A]
	if err := Self(q.Limits); err != nil && out.Encode(reply[A]{Unconfined: err.Error()}) != nil {
		return 1
	}
	send := func(a A) error { return out.Encode(reply[A]{Answer: &a}) }
	if err := read(q.Request, context.Background(), send); err != nil {
		last.Failed = &failure{Text: err.Error()}
		errors.As(err, &last.Failed.Refusal)
		errors.As(err, &last.Failed.Errno)
	}
	return measure.Either(out.Encode(last) != nil, 1, 0)
}

// receive hands on the answers of a child until its last reply.
func receive[A any](from io.Reader, each func(A) error) error {
	in := gob.NewDecoder(from)
	for {
		var r reply[A]
		if err := in.Decode(&r); err != nil {
			return &Ended{Said: err.Error()}
		}
		switch {
		case r.Unconfined != "":
			doubt(r.Unconfined)
			continue
		case r.Failed != nil && r.Failed.Refusal != nil && r.Failed.Text == r.Failed.Refusal.Error():
			return r.Failed.Refusal
		case r.Failed != nil:
			return r.Failed
		case r.Answer == nil:
			return nil
		}
		if err := each(*r.Answer); err != nil {
			return err
		}
	}
}
