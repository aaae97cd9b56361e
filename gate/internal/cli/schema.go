package cli

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/manual"
)

type schemaVerb struct{ flagless }

func (schemaVerb) run(_ context.Context, e *env, args arguments) error {
	text, err := manual.Schema(args.own[0])
	if err == nil {
		_, err = e.Out.Write(text)
	}
	return err
}
