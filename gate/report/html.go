package report

import (
	_ "embed"
	"html/template"
	"strings"
)

func init() {
	register(Format{Name: "html", Suffix: ".html", About: "a browser", render: htmlPage})
}

//go:embed report.html.tmpl
var htmlText string

var htmlTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"class": func(t tone) string { return [...]string{good: "good", bad: "bad"}[t] },
	"elide": Elide,
	"lower": strings.ToLower,
}).Parse(htmlText))

// htmlPage writes one page that needs nothing else: no script, no picture, nothing from the network.
func htmlPage(v *view, _ Options) (string, error) {
	var b strings.Builder
	err := htmlTemplate.Execute(&b, v)
	// GitHub's runner obeys "##[command]" anywhere in a log line.
	return strings.ReplaceAll(b.String(), "##[", "&#35;#["), err
}
