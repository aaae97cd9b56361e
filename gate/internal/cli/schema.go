package cli

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/terminal"
)

type schemaVerb struct{ flagless }

func (schemaVerb) run(_ context.Context, e *env, args arguments) error {
	text, err := manual.Schema(args.own[0])
	if err == nil {
		_, err = e.Out.As(terminal.JSON).Write(text)
	}
	return err
}
