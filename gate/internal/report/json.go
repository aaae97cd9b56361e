package report

import (
	"encoding/json"

	"github.com/nsgate/nsgate/gate/internal/report/saved"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

func jsonForm(value any, _ story.Options) (string, error) { return saved.JSON(value) }

func jsonReport(v *story.Story) (string, error) { return saved.JSON(saved.Lossless(v.Report)) }

// indented writes a value for other programs, with <, > and & escaped.
func indented(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text) + "\n", err
}
