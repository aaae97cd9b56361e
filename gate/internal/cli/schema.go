package cli

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nsgate/nsgate/gate/internal/manual"
)

func schemaCommand() *command {
	names := manual.Schemas()
	return &command{
		name:    "schema",
		usage:   strings.Join(names, "|"),
		summary: "print the JSON schema of nsgate.toml, or of what nsgate writes as JSON",
		own:     1,
		wants:   "one of " + strings.Join(names, ", "),
		words:   names,
		verb:    schemaVerb{},
	}
}

type schemaVerb struct{}

func (schemaVerb) bind(*pflag.FlagSet) {}

func (schemaVerb) run(_ context.Context, e *env, args arguments) error {
	text, err := manual.Schema(args.own[0])
	if err != nil {
		return usageError("schema: %q is none of %s", args.own[0], strings.Join(manual.Schemas(), ", "))
	}
	_, err = e.Out.Write(text)
	return err
}
