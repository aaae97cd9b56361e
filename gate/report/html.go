package report

import (
	_ "embed"
	"html/template"
	"strings"
)

func init() {
	register(Format{Name: "html", Suffix: ".html", About: "a browser", render: htmlPage, together: htmlPages})
}

//go:embed report.html.tmpl
var htmlText string

var htmlTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"class": func(t tone) string { return [...]string{good: "good", bad: "bad"}[t] },
	"elide": Elide,
	"lower": strings.ToLower,
}).Parse(htmlText))

// htmlPages writes one page with the verdict on all workloads, and below what htmlPage writes of each.
func htmlPages(whole *view, each []*view, o Options) (string, error) {
	const begin, end = "<body>\n", "</body>"
	page, err := htmlPage(whole, o)
	for _, v := range each {
		if err != nil {
			return "", err
		}
		var one string
		one, err = htmlPage(v, o)
		_, body, _ := strings.Cut(one, begin)
		body, _, _ = strings.Cut(body, end)
		page = strings.Replace(page, end, "<hr>\n<h1>"+template.HTMLEscapeString(v.Workload)+"</h1>\n"+body+end, 1)
	}
	return page, err
}

// htmlPage writes one page that needs nothing else: no script, no picture, nothing from the network.
func htmlPage(v *view, _ Options) (string, error) {
	var b strings.Builder
	err := htmlTemplate.Execute(&b, v)
	// GitHub's runner obeys "##[command]" anywhere in a log line.
	return strings.ReplaceAll(b.String(), "##[", "&#35;#["), err
}
