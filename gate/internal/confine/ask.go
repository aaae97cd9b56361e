package confine

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// question is the input of a child, on its standard input.
type question[Q any] struct {
	Limits  Limits
	Request Q
}

// reply is the output of a child, on its standard output: why it is not confined, an answer, an error, or nothing at the
// end.
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

func (f *failure) Unwrap() (in []error) {
	if f.Refusal != nil {
		in = append(in, f.Refusal)
	}
	if f.Errno != 0 {
		in = append(in, f.Errno)
	}
	return in
}

// Answer is the child of [Ask]: it confines itself, reads what it is asked for, and sends the answers. It returns the
// exit code of the process. Signals of a terminal are left to the parent, whose end it shares.
func Answer[Q, A any](read func(request Q, send func(A) error) error) int {
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
	if err := read(q.Request, func(a A) error { return out.Encode(reply[A]{Answer: &a}) }); err != nil {
		last.Failed = &failure{Text: err.Error()}
		errors.As(err, &last.Failed.Refusal)
		errors.As(err, &last.Failed.Errno)
	}
	if out.Encode(last) != nil {
		return 1
	}
	return 0
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
