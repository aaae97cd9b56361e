// Package filter runs programs of jq on values of JSON, within bounds of time, memory and output. They read no
// environment, files or further input.
package filter

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/nsgate/nsgate/gate/internal/measure"
)

// The bounds of a run: its time, the memory in bytes that the process uses more than at its start, and its outputs.
var longest = 10 * time.Second

const (
	largest = 1 << 30
	most    = 1_000_000
	// mostSaid is the length in bytes of an error, whose text a program may choose.
	mostSaid = 300
	// MaxText is the size of a program in bytes up to which it is read.
	MaxText = 64 << 10
)

// Function is a function of Go that programs call: of its input and arguments.
type Function struct {
	Name      string
	Arguments int
	Call      func(input any, arguments []any) any
}

// Definitions are functions and variables that programs share.
type Definitions struct {
	Functions []Function
	Variables []string
	shared    []*gojq.FuncDef
}

// Define adds the definitions of a text.
func (l *Definitions) Define(text string) error {
	q, err := gojq.Parse(text + " .")
	if err == nil {
		l.shared = append(l.shared, q.FuncDefs...)
	}
	return err
}

// IsFile reports whether a text is the name of a file with a program, not a program.
func IsFile(text string) bool {
	return strings.HasSuffix(text, ".jq") && !strings.ContainsAny(text, "{|\n")
}

// Check reports whether a text is a program, and otherwise what is wrong with it.
func Check(text string) error {
	_, err := new(Definitions).Parse(text)
	return err
}

// Program is a program of jq.
type Program struct {
	// Facts are the entries of its module directive.
	Facts map[string]any
	// Trusted is true for a program that is known to end: it has no bounds, which cost time.
	Trusted bool
	query   *gojq.Query
	in      *Definitions
}

// Parse reads a program. The error says in what line and where it is wrong.
func (l *Definitions) Parse(text string) (*Program, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("a filter of more than %d bytes", MaxText)
	}
	q, err := gojq.Parse(text)
	if at, ok := errors.AsType[*gojq.ParseError](err); ok {
		line := 1 + strings.Count(text[:max(0, at.Offset-len(at.Token))], "\n")
		return nil, fmt.Errorf("line %d: %s is not expected here in a filter of jq", line, measure.Quote(at.Token))
	} else if err != nil {
		return nil, err
	}
	p := &Program{query: q, in: l}
	if q.Meta != nil {
		p.Facts = q.Meta.ToValue()
	}
	return p, nil
}

// Code is a program, or a function of one, that is ready to run.
type Code struct {
	code    *gojq.Code
	trusted bool
}

// Compile makes a program ready.
func (p *Program) Compile() (Code, error) {
	q := *p.query
	q.FuncDefs = append(p.in.shared[:len(p.in.shared):len(p.in.shared)], q.FuncDefs...)
	return p.compile(&q)
}

// Function makes a function of a program ready, which calls none that is shared or stands behind it.
func (p *Program) Function(name string) (Code, error) {
	q, err := gojq.Parse(name)
	if err != nil {
		return Code{}, err
	}
	at := slices.IndexFunc(p.query.FuncDefs, func(f *gojq.FuncDef) bool { return f.Name == name })
	q.FuncDefs = p.query.FuncDefs[:at+1]
	return p.compile(q)
}

func (p *Program) compile(q *gojq.Query) (Code, error) {
	options := []gojq.CompilerOption{gojq.WithVariables(p.in.Variables)}
	for _, f := range p.in.Functions {
		options = append(options, gojq.WithFunction(f.Name, f.Arguments, f.Arguments, f.Call))
	}
	code, err := gojq.Compile(q, options...)
	return Code{code, p.Trusted}, err
}

// Run gives the outputs of a program on a value, with the values of the variables of its library, until one is false.
// One that is not trusted ends at the bounds.
func (c Code) Run(value any, each func(output any) bool, variables ...any) error {
	if c.trusted {
		return c.run(context.Background(), value, each, variables)
	}
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	go watch(ctx, end)
	done := make(chan error, 1)
	go func() { done <- c.run(ctx, value, each, variables) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second): // a function of jq goes on, or what reads a value that holds others many times
		return context.Cause(ctx)
	}
}

func (c Code) run(ctx context.Context, value any, each func(output any) bool, variables []any) error {
	all := c.code.RunWithContext(ctx, value, variables...)
	for seen := 1; ; seen++ {
		v, more := next(all)
		err, failed := v.(error)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !more:
			return nil
		case failed:
			return errors.New(cut(err.Error(), mostSaid))
		case seen > most && !c.trusted:
			return fmt.Errorf("the filter has more than %d outputs", most)
		case !each(v):
			return nil
		}
	}
}

// next is an output, or the error of a panic in the library.
func next(all gojq.Iter) (v any, more bool) {
	defer func() {
		if p := recover(); p != nil {
			v, more = fmt.Errorf("%v", p), true
		}
	}()
	return all.Next()
}

// watch ends a program that takes longer or more memory than it may.
func watch(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for start, before := time.Now(), used(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch {
		case time.Since(start) > longest:
			end(fmt.Errorf("the filter does not end within %v", longest))
		case used() > before+max(largest, before): // garbage is as much as what is held
			end(fmt.Errorf("the filter takes more than %d MB of memory", largest>>20))
		}
	}
}

// used is the memory in bytes that the program holds or has not collected yet.
func used() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Text is a value as JSON, of at most this many bytes.
func Text(v any, most int) string {
	text, err := gojq.Marshal(v)
	if err != nil {
		return "a value"
	}
	return cut(string(text), most)
}

// cut is a text of at most this many bytes.
func cut(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
