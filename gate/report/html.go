package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/gate/measure"
)

// HTML writes the report as one page that needs nothing else: no script, no picture, nothing from the network.
func HTML(w io.Writer, r *gate.Report, _ Options) error {
	word, reason := verdict(r)
	page := htmlPage{
		Title: "nsgate: " + strings.ToLower(word), Icon: icon(word), Reason: reason,
		Class: map[string]string{"PASS": "good", "FAIL": "bad"}[word],
	}
	for i, s := range sections(r) {
		if len(s.findings) == 0 {
			continue
		}
		t := htmlTable{Title: s.title, Open: i == 0}
		for _, f := range s.findings {
			t.Rows = append(t.Rows, newHTMLRow(f))
		}
		page.Tables = append(page.Tables, t)
	}
	for _, f := range comparison(r) {
		page.Facts = append(page.Facts, htmlPair{f.label, f.text})
	}
	page.Lists = []htmlList{{"Warnings", cleaned(r.Warnings)}, {"Next", cleaned(r.Next)}}
	page.Commands = []htmlPair{{"To reproduce", Clean(r.Reproduce)}, {"To accept as the new baseline", Clean(r.Accept)}}
	var b strings.Builder
	if err := htmlTemplate.Execute(&b, page); err != nil {
		return fmt.Errorf("cannot write the report as HTML: %w", err)
	}
	// GitHub's runner obeys "##[command]" anywhere in a log line.
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), "##[", "&#35;#["))
	return err
}

type (
	htmlPage struct {
		Title, Icon, Reason, Class string
		Tables                     []htmlTable
		Lists                      []htmlList
		Facts, Commands            []htmlPair
	}
	htmlTable struct {
		Title string
		Open  bool
		Rows  []htmlRow
	}
	htmlRow struct {
		Class, Result, Name, FullName, Geometry, Metric, Values, Change, Interval, Limit, Share, Runs string
		Why                                                                                           []string
	}
	htmlList struct {
		Title string
		Lines []string
	}
	htmlPair struct{ Label, Text string }
)

func newHTMLRow(f gate.Finding) htmlRow {
	row := htmlRow{
		Result: result(f), Name: Elide(subject(f), 100), Geometry: geometry(f), Metric: Metric(f), Values: values(f),
		Interval: interval(f.Change, f.Low, f.High), Runs: spark(f.BaseRuns, f.HeadRuns, f.Limit),
	}
	switch {
	case f.Outcome == gate.Regressed && f.Gates:
		row.Class = "bad"
	case f.Outcome == gate.Improved:
		row.Class = "good"
	}
	if f.Name != f.Kernel {
		row.FullName = Clean(f.Name)
	}
	if f.Change.Known() {
		row.Change = percentChange(f.Change)
	}
	row.Limit = allowed(f)
	if f.Share.Known() && f.Scope != measure.ScopeWorkload {
		row.Share = part(f.Share)
	}
	facts := append([]string{match(f), f.Reason}, f.Evidence...)
	if f.Cause != nil {
		facts = append(facts, told(f.Cause))
	}
	row.Why = cleaned(facts)
	return row
}

// cleaned makes each text one line and drops the empty ones.
func cleaned(texts []string) []string {
	var out []string
	for _, t := range texts {
		if t = strings.TrimSpace(Clean(t)); t != "" {
			out = append(out, t)
		}
	}
	return out
}

var htmlTemplate = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; --bad: #c62828; --good: #2e7d32; --line: #8884 }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line) }
th { white-space: nowrap }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
td.runs { white-space: nowrap; letter-spacing: -.05em }
code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
pre { white-space: pre-wrap; padding: .6rem; border: 1px solid var(--line) }
small { display: block; opacity: .7; overflow-wrap: anywhere }
.bad { color: var(--bad) } .good { color: var(--good) }
summary { cursor: pointer; font-weight: 600; margin: 1rem 0 .3rem }
</style>
</head>
<body>
<h1 class="{{.Class}}">{{.Icon}} {{.Title}}</h1>
<p><strong>{{.Reason}}</strong></p>
{{range .Tables}}<details{{if .Open}} open{{end}}>
<summary>{{.Title}} ({{len .Rows}})</summary>
<table>
<thead><tr><th></th><th>Name</th><th>Metric</th><th>Before → after</th><th>Change</th><th>Interval</th><th>Limit</th><th>GPU time</th><th>Runs</th></tr></thead>
<tbody>
{{range .Rows}}<tr><td class="{{.Class}}">{{.Result}}</td><td><code>{{.Name}}</code>{{with .Geometry}}<small>{{.}}</small>{{end}}{{with .FullName}}<small>{{.}}</small>{{end}}{{range .Why}}<small>{{.}}</small>{{end}}</td><td>{{.Metric}}</td><td>{{.Values}}</td><td class="n">{{.Change}}</td><td class="n">{{.Interval}}</td><td class="n">{{.Limit}}</td><td class="n">{{.Share}}</td><td class="runs">{{.Runs}}</td></tr>
{{end}}</tbody>
</table>
</details>
{{end}}{{range .Lists}}{{if .Lines}}<h2>{{.Title}}</h2>
<ul>
{{range .Lines}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{end}}{{with .Facts}}<h2>What was compared</h2>
<table>
{{range .}}<tr><th>{{.Label}}</th><td>{{.Text}}</td></tr>
{{end}}</table>
{{end}}{{range .Commands}}{{if .Text}}<h2>{{.Label}}</h2>
<pre>{{.Text}}</pre>
{{end}}{{end}}</body>
</html>
`))
