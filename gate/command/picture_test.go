package command_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/command"
)

// TestPicture redraws the README's picture: the head of the page on a recording with a sleeping CPU. -update writes it.
func TestPicture(t *testing.T) {
	const file = "../../cmd/nsgate/docs/page.svg"
	var page bytes.Buffer
	if code := command.Main(context.Background(), []string{"compare", "--format", "html",
		"../../testdata/h200/kernels/base", "../../testdata/h200/kernels/idle_200us"},
		command.Streams{Out: &page, Err: io.Discard}); code != 1 {
		t.Fatalf("exit code %d", code)
	}
	var parts []string
	for _, p := range [][2]string{{"<style>", "</style>"}, {"<header>", "<nav"}, {`<section id="where">`, "</section>"},
		{`<section id="step">`, "</section>"}} {
		_, rest, found := strings.Cut(page.String(), p[0])
		text, _, ended := strings.Cut(rest, p[1])
		if !found || !ended {
			t.Fatalf("the page has no %s", p[0])
		}
		parts = append(parts, text)
	}
	got := "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"1346\">\n" +
		"<foreignObject width=\"100%\" height=\"100%\">\n<div xmlns=\"http://www.w3.org/1999/xhtml\">\n<style>" +
		html.EscapeString(strings.Replace(parts[0], "body{", ".body{", 1)) + "\nsection{margin:1rem 0}.main{padding-top:1rem}.body{height:100%}</style>\n" +
		"<div class=\"body\"><div class=\"main\">" + wellFormed(t,
		parts[1]+"<section>"+parts[2]+"</section><section>"+parts[3]+"</section>") + "</div></div>\n" +
		"</div>\n</foreignObject>\n</svg>\n"
	if err := xml.Unmarshal([]byte(got), new(struct{})); err != nil {
		t.Fatal(err)
	}
	told := strings.ToLower(pageMarkup.ReplaceAllString(unseen.ReplaceAllString(got, ""), " "))
	for _, w := range []string{"click", "key", "zoom", "search", "arrows", "hover", "press"} {
		if strings.Contains(told, w) {
			t.Errorf("the picture tells its reader to do what a picture cannot: %q", w)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("page.svg is not the page as it is now (%v); go test ./gate/command -run TestPicture -update draws it",
			err)
	}
}

// wellFormed writes HTML as XML.
func wellFormed(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if slices.Contains(xml.HTMLAutoClose, x.Name.Local) {
				t.Fatalf("the picture cannot hold <%s>", x.Name.Local)
			}
			out.WriteString("<" + x.Name.Local)
			if x.Name.Local == "svg" {
				out.WriteString(` xmlns="http://www.w3.org/2000/svg"`)
			}
			for _, a := range x.Attr {
				fmt.Fprintf(&out, ` %s="%s"`, a.Name.Local, html.EscapeString(a.Value))
			}
			out.WriteString(">")
		case xml.EndElement:
			out.WriteString("</" + x.Name.Local + ">")
		case xml.CharData:
			out.WriteString(html.EscapeString(string(x)))
		}
	}
}
