package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	g "maragu.dev/gomponents"
)

func init() {
	register(Format{Name: "html", Suffix: ".html", About: "a browser: one file with pictures, which needs no network", render: htmlReport,
		calibration: htmlCalibration, summary: htmlSummary, history: htmlHistory})
}

//go:embed html/style.css
var pageStyle string

//go:embed html/script.js
var pageScript string

// htmlPage is a page with a body; saved is the JSON form, which stands in the page as well. Nothing in it asks for anything from
// elsewhere, and a browser runs and draws by nothing but this script and this style.
func htmlPage(title, saved string, body ...g.Node) (string, error) {
	packed, err := pack(saved)
	if err != nil {
		return "", err
	}
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(pageStyle), digest(pageScript))
	var b strings.Builder
	err = (g.Group{g.Raw("<!doctype html>"), el("html", attr("lang", "en"), classed("no-script"), lines(
		el("head", lines(
			el("meta", attr("charset", "utf-8")),
			el("meta", attr("http-equiv", "Content-Security-Policy"), attr("content", policy)),
			el("meta", attr("name", "viewport"), attr("content", "width=device-width, initial-scale=1")),
			el("title", escaped(title)),
			el("style", g.Raw(pageStyle)),
		)),
		el("body", lines(append(body, g.Raw(packed), el("script", g.Raw(pageScript)))...)),
	))}).Render(&b)
	if err != nil {
		return "", err
	}
	// GitHub's runner obeys "##[command]" anywhere in a log line.
	return strings.ReplaceAll(b.String(), "##[", "&#35;#["), nil
}

// digest is the hash by which a browser knows a script or style.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

const (
	packedBegin = `<script type="application/gzip" id="report">`
	packedEnd   = `</script>`
)

// pack puts a JSON form into an element that a browser does not read: compressed, since names stand in it more than once.
func pack(saved string) (string, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(z, saved); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return packedBegin + base64.StdEncoding.EncodeToString(b.Bytes()) + packedEnd, nil
}

// maxReport is how much is read of a report: of its file, and of what a page unpacks to, in bytes. A report of 10,000 kernels takes
// 20 MB.
var maxReport int64 = 128 << 20

var isPage = regexp.MustCompile(`(?i)^\s*<!doctype html`)

// unpack gives back the JSON form that stands in a page; anything that is no page comes back as it is.
func unpack(data []byte) ([]byte, error) {
	if !isPage.Match(data[:min(len(data), 64)]) {
		return data, nil
	}
	_, rest, ok := bytes.Cut(data, []byte(packedBegin))
	body, _, closed := bytes.Cut(rest, []byte(packedEnd))
	if !ok || !closed {
		return nil, errors.New("no report is in this page; give one that nsgate wrote as html, whole")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.TrimSpace(body))))
	if err != nil {
		return nil, fmt.Errorf("the report in this page is damaged: %w; give the page as nsgate wrote it", err)
	}
	out, err := input.All(z, maxReport)
	if err != nil {
		return nil, fmt.Errorf("the report in this page is damaged: %w; give the page as nsgate wrote it", err)
	}
	return out, nil
}
