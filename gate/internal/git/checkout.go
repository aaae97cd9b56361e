package git

import (
	"context"
	_ "embed"
	"os/exec"
)

//go:embed checkout.sh
var checkout string

// Checkout is a command that makes dir a repository of its own in which a commit of the one around top is checked out:
// the script says how. Nothing that the repository around top configures runs.
func Checkout(ctx context.Context, top, commit, dir string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", checkout, "sh", top, commit, dir)
	if trusted := exempt(top); len(trusted) > 1 {
		cmd.Args = append(cmd.Args, trusted[1])
	}
	cmd.Env = Command(ctx, top).Env
	return cmd
}
