package report

import (
	"html/template"
	"strings"
)

func init() {
	register(Format{Name: "html", Suffix: ".html", About: "a browser", render: htmlPage})
}

// htmlPage writes one page that needs nothing else: no script, no picture, nothing from the network.
func htmlPage(v *view, _ Options) (string, error) {
	var b strings.Builder
	err := htmlTemplate.Execute(&b, v)
	// GitHub's runner obeys "##[command]" anywhere in a log line.
	return strings.ReplaceAll(b.String(), "##[", "&#35;#["), err
}

var htmlTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"class": func(t tone) string { return [...]string{good: "good", bad: "bad"}[t] },
	"elide": Elide,
	"lower": strings.ToLower,
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nsgate: {{lower .Word}}</title>
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
<h1 class="{{class .Tone}}">{{.Icon}} nsgate: {{lower .Word}}</h1>
<p><strong>{{.Reason}}</strong></p>
{{range $i, $s := .Sections}}{{if .Rows}}<details{{if eq $i 0}} open{{end}}>
<summary>{{.Title}} ({{len .Rows}})</summary>
<table>
<thead><tr><th></th><th>Name</th><th>Metric</th><th>Before → after</th><th>Change</th><th>Interval</th><th>Limit</th><th>GPU time</th><th>Runs</th></tr></thead>
<tbody>
{{range .Rows}}<tr><td class="{{class .Tone}}">{{.Result}}</td><td><code>{{elide .Subject 100}}</code>{{with .Geometry}}<small>{{.}}</small>{{end}}{{with .FullName}}<small>{{.}}</small>{{end}}{{range .Why}}<small>{{.}}</small>{{end}}</td><td>{{.Metric}}</td><td>{{.Values}}</td><td class="n">{{.Change}}</td><td class="n">{{.Interval}}</td><td class="n">{{.Limit}}</td><td class="n">{{.Share}}</td><td class="runs">{{.Runs}}</td></tr>
{{end}}</tbody>
</table>
</details>
{{end}}{{end}}{{with .Warnings}}<h2>Warnings</h2>
<ul>
{{range .}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{with .Next}}<h2>Next</h2>
<ul>
{{range .}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{with .Facts}}<h2>What was compared</h2>
<table>
{{range .}}<tr><th>{{.Label}}</th><td>{{.Text}}</td></tr>
{{end}}</table>
{{end}}{{range .Commands}}<h2>{{.Label}}</h2>
<pre>{{.Text}}</pre>
{{end}}</body>
</html>
`))
