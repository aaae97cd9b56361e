package report

import (
	"regexp"
	"strings"
)

func init() {
	register(Format{Name: "buildkite", Suffix: ".buildkite.md", About: "annotations of Buildkite (buildkite-agent annotate)", render: buildkite})
}

// emoji is what Buildkite draws as a picture; names of C++ hold such things.
var emoji = regexp.MustCompile(`:([a-zA-Z0-9_+-]+:)`)

// buildkite writes the Markdown form, within the 1 MiB of an annotation, and no name becomes a picture. Commands, which are there to be
// copied, stay as they are.
func buildkite(v *view, o Options) (string, error) {
	o.MaxBytes = defaultMaxBytes - defaultMaxBytes/8
	text, err := markdown(v, o)
	parts := strings.SplitAfter(text, "</pre>")
	for i, p := range parts {
		prose, command, isCommand := strings.Cut(p, "<pre>")
		parts[i] = emoji.ReplaceAllString(prose, ":&#8203;$1")
		if isCommand {
			parts[i] += "<pre>" + command
		}
	}
	return Cut(strings.Join(parts, ""), 1<<20), err
}
