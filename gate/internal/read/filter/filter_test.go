package filter

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// run gives the outputs of a program as JSON.
func run(t *testing.T, in *Definitions, program string, value any, variables ...any) (string, error) {
	t.Helper()
	p, err := in.Parse(program)
	if err != nil {
		return "", err
	}
	c, err := p.Compile()
	if err != nil {
		return "", err
	}
	out, err := outputs(c, value, variables...)
	return Text(out, 1000), err
}

func outputs(c Code, value any, variables ...any) (out []any, err error) {
	out = []any{}
	err = c.Run(value, func(output any) bool { out = append(out, output); return true }, variables...)
	return out, err
}

func TestRun(t *testing.T) {
	d := &Definitions{Variables: []string{"$unit"}, Functions: []Function{{"twice", 0,
		func(x any, _ []any) any { return fmt.Sprint(x, x) }}}}
	if err := d.Define("def shared: .a + 1;"); err != nil {
		t.Fatal(err)
	}
	value := map[string]any{"a": 1, "b": []any{1, 2}}
	for program, want := range map[string]string{
		".b[]": "[1,2]", "shared": "[2]", "def shared: 7; shared": "[7]", "$unit": `["ms"]`, "empty": "[]",
		`"x" | twice`: `["xx"]`, ".b | map(. * 2)": "[[2,4]]", "env | length": "[0]", "input": "",
		`error("no" * 400)`: "", "nothing": "", "$other": "",
	} {
		got, err := run(t, d, program, value, "ms")
		if (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%s: %s, %v; want %s", program, got, err, want)
		}
		if err != nil && len(err.Error()) > mostSaid+3 {
			t.Errorf("%s: an error of %d bytes", program, len(err.Error()))
		}
	}
	if err := d.Define("def broken: ("); err == nil {
		t.Error("a broken definition is taken")
	}
}

// A program that prints without end is ended; so is one whose caller gives up.
func TestBounds(t *testing.T) {
	const want = "the filter has more than 1000000 outputs"
	if _, err := run(t, &Definitions{}, "range(2000000)", nil); err == nil || err.Error() != want {
		t.Error(err)
	}
	p, err := new(Definitions).Parse("repeat(1)")
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	if err := c.Run(nil, func(any) bool { taken++; return taken < 3 }); err != nil || taken != 3 {
		t.Errorf("%v after %d outputs, of which the third is the last wanted", err, taken)
	}
}

// An error of a text names the line and the word; files are told from programs by their names.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{".a |\n.b }": `line 2: "}"`, "": "", ".a": "",
		strings.Repeat(" ", MaxText+1): "more than 65536 bytes", "def f: 1; (": "line 1", ".a\n| \"x": ""} {
		err := Check(text)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		} else if want == "" && text != ".a\n| \"x" && err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if Check(".a\n| \"x") == nil {
		t.Error("a text without an end is a program")
	}
	for text, want := range map[string]bool{"rows.jq": true, ".jq": true, "a | b.jq": false, "{a}.jq": false,
		".rows": false, "x\n.jq": false} {
		if got := IsFile(text); got != want {
			t.Errorf("%q is a file: %v", text, got)
		}
	}
}

// A function of a program sees what stands before it alone; the module directive is its facts.
func TestFunction(t *testing.T) {
	d := &Definitions{}
	if err := d.Define("def shared: 1;"); err != nil {
		t.Fatal(err)
	}
	p, err := d.Parse(`module {"harness": "x"}; def a: 1; def b: a + 1; def c: d; def d: 1; def e: shared; .`)
	if err != nil || p.Facts["harness"] != "x" {
		t.Fatal(p, err)
	}
	for name, want := range map[string]string{"a": "[1]", "b": "[2]", "c": "", "e": ""} {
		c, err := p.Function(name)
		if (err != nil) != (want == "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		if out, err := outputs(c, nil); err != nil || Text(out, 99) != want {
			t.Errorf("%s: %v %v", name, out, err)
		}
	}
	if got := Text(strings.Repeat("é", 50), 10); got != `"éééé`+"…" {
		t.Errorf("%q", got)
	}
}

// TestWithoutEnd has a function of jq that takes minutes, and does not ask whether it may.
func TestWithoutEnd(t *testing.T) {
	whole := longest
	t.Cleanup(func() { longest = whole })
	longest = 50 * time.Millisecond
	_, err := run(t, &Definitions{}, `"a" * 300000 | [match(""; "g")] | length`, nil)
	if err == nil || err.Error() != "the filter does not end within 50ms" {
		t.Error(err)
	}
}
