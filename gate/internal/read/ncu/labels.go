package ncu

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/nsgate/nsgate/gate/internal/input"
)

//go:embed labels.txt
var labelsText string

// labels are the names of metrics on the details page by "SECTION: LABEL", also of releases until 2021 and of
// --print-details all. "Memory Throughput" is a percentage in one section and a bandwidth in another.
var labels = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(labelsText) {
		label, name, _ := strings.Cut(strings.TrimSpace(line), " = ")
		of[label] = name
	}
	return of
})

// Sections, of which the last two have labels that mean the same in each of their parts.
const (
	speed    = "GPU Speed Of Light Throughput"
	roofline = "GPU Speed Of Light Roofline Chart"
	states   = "Warp State Statistics"
)

// labelled matches names printed by --print-metric-name label-name: "Duration (gpu__time_duration.sum)".
var labelled = input.Pattern(`^.* \((\w+__[\w.:]+)\)$`)

// counter is the stored name of a cell of the details page. With --metrics, and with --print-metric-name, the page has
// the real names.
func counter(section, item, label string) string {
	if m := labelled().FindStringSubmatch(label); m != nil {
		return m[1]
	}
	if strings.Contains(label, "__") {
		return label
	}
	if section == "GPU Speed Of Light" { // before 2021.2
		section = speed
	}
	name, known := labels()[section+": "+label]
	switch {
	case known && (item == "" || section == roofline || section == states):
		return name
	case item == "":
		return section + ": " + label
	}
	return section + ": " + item + ": " + label
}
