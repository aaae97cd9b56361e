package cli

import (
	"embed"
	"strings"
	"text/template"

	"github.com/nsgate/nsgate/cmd/nsgate/internal/manual"
	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/profile"
)

// helps are the texts of --help: help/COMMAND.txt for each command, which ends in examples, and help/nsgate.txt.
//
//go:embed help
var helps embed.FS

var helpTexts = template.Must(template.New("").Funcs(template.FuncMap{"inputs": profile.Formats, "patterns": func() []gate.Pattern { return gate.Patterns }, "topics": manual.Topics, "join": strings.Join}).ParseFS(helps, "help/*.txt"))

// help is the text of a command, with what it is about.
func help(name string, about any) string {
	var b strings.Builder
	if err := helpTexts.ExecuteTemplate(&b, name+".txt", about); err != nil {
		panic(err) // a command without its text
	}
	return b.String()
}
