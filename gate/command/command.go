// Package command is the nsgate command line.
package command

import (
	"context"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Streams are the files of the command. The report goes to Out, everything else to Err.
type Streams = cli.Streams

// Main runs the command line args, without the program's name, and returns the exit code. With files as streams it may
// run this executable again, to read files of others in a confined child: the program hands all its arguments to Main.
func Main(ctx context.Context, args []string, streams Streams) int {
	proc.UseGuard()
	return cli.Main(ctx, args, streams)
}
