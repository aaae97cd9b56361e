// Package command is the nsgate command line.
package command

import (
	"context"
	"os"
	"slices"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Streams are the files of the command. The report goes to Out, everything else to Err.
type Streams = cli.Streams

// Main runs the command line args, without the program's name, and returns the exit code. A program that hands all of
// its own arguments to Main is run again, to read files of others in a confined child and to clear up after a kill.
func Main(ctx context.Context, args []string, streams Streams) int {
	// else the main of this program does not hand its arguments on
	if slices.Equal(args, os.Args[1:]) && !proc.IsTest() {
		proc.UseGuard()
	}
	return cli.Main(ctx, args, streams)
}
