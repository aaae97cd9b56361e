package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// details puts those details of [gate.Reasons] into words that are no words yet, by key and name.
var details = map[string]saying{
	"other-gpu.models": func(a *args) string {
		models := slices.Clone(a.list("models"))
		for i, m := range models {
			models[i] = cmp.Or(m, "one that the profile does not name")
		}
		return strings.Join(models, ", ")
	},
	"other-gpu.model":         func(a *args) string { return a.given("model", `{model}`, `the GPU of the head`) },
	"other-mode.base":         func(a *args) string { return a.given("base", `{base}`, `not known`) },
	"other-mode.head":         func(a *args) string { return a.given("head", `{head}`, `not known`) },
	"other-graph-trace.base":  says(`{graphs base}`),
	"other-graph-trace.head":  says(`{graphs head}`),
	"other-devices.base":      says(`{count base GPU}`),
	"other-devices.head":      says(`{count head GPU}`),
	"other-processes.base":    says(`{count base process|processes}`),
	"other-processes.head":    says(`{count head process|processes}`),
	"other-step.base":         func(a *args) string { return a.quoted("base") },
	"other-step.head":         func(a *args) string { return a.quoted("head") },
	"other-work.base":         says(`{number base}`),
	"other-work.head":         says(`{number head}`),
	"other-workload.base":     says(`{count base kernel}`),
	"other-workload.head":     says(`{count head kernel}`),
	"few-runs.base":           says(`{count base run}`),
	"few-runs.head":           says(`{number head}`),
	"swerves.change":          says(`{change change}`),
	"unsteady.some":           says(`{number some}`),
	"unsteady.all":            says(`{number all}`),
	"unsettled.some":          says(`{number some}`),
	"unsettled.all":           says(`{number all}`),
	"unsplittable.runs":       says(`{count runs run}`),
	"zero-time.time":          func(a *args) string { return quantity(a.number("time"), "ns") },
	"not-sampled.metric":      says(`{metric metric}`),
	"metric-missing.metric":   says(`{metric metric}`),
	"time-unjudged.metric":    says(`{metric metric}`),
	"counter-unjudged.metric": says(`{metric metric}`),
	"doubted.metric":          says(`{metric metric}`),
	"drift.change":            says(`{change change}`),
	"drift.p":                 func(a *args) string { return fmt.Sprintf("%.2g", float64(a.number("p"))) },
}
