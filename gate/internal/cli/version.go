package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/terminal"
)

func printVersion(_ context.Context, e *env, v *flags, _ arguments) error {
	if v.json {
		return json.NewEncoder(e.Out.As(terminal.JSON)).Encode(thisBuild())
	}
	fmt.Fprintln(e.Out, versionLine())
	return nil
}

// version is set by release builds with -ldflags "-X …cli.version=v1.2.3", commit where the sources carry no history.
var version, commit string

type build struct {
	Version string `json:"version"` // "v1.2.3", or "(devel)" where it was built from no release
	Commit  string `json:"commit"`  // of the sources, "" for unknown
	Changed bool   `json:"changed"` // the sources differed from the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(b.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func versionLine() string {
	b := thisBuild()
	words := []string{"nsgate", b.Version}
	if short := b.Commit[:min(12, len(b.Commit))]; short != "" && !strings.Contains(b.Version, short) {
		if b.Changed {
			short += "+changes"
		}
		words = append(words, short)
	}
	return strings.Join(append(words, b.Go), " ")
}
