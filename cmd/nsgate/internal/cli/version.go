package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"
)

func versionCommand() *command {
	return &command{
		name:    "version",
		usage:   "",
		summary: "print the version",
		bind: func(*pflag.FlagSet) action {
			return func(_ context.Context, e *env, _ arguments) error {
				fmt.Fprintln(e.Out, versionLine())
				return nil
			}
		},
	}
}

// version is set by release builds with -ldflags "-X …cli.version=v1.2.3".
var version string

func versionLine() string {
	v, revision, dirty, goVersion := version, "", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				revision = s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+changes"
			}
		}
	}
	words := []string{"nsgate", v}
	if revision != "" && !strings.Contains(v, revision) {
		words = append(words, revision+dirty)
	}
	return strings.Join(append(words, goVersion), " ")
}
