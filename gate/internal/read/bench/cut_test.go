//go:build unix

package bench

import (
	"os"
	"strings"
	"testing"
)

// TestCut wants no other number of a file that is cut off: it is refused, or what is whole in it is read.
func TestCut(t *testing.T) {
	seen, every := 0, 1
	if os.Getenv("NSGATE_TEST_FULL") == "" {
		every = 7 // bytes
	}
	for name, list := range grown {
		text := strings.TrimSpace(list[0].File(10))
		numbers := func(text string) map[string]float64 {
			all := map[string]float64{}
			s, err := Read(strings.NewReader(text), "a/b.json")
			if err != nil {
				return nil
			}
			for i := range s.Series {
				x := &s.Series[i]
				all[x.Subject.Name+" "+x.Metric.Name] = x.Values[0]
			}
			return all
		}
		whole := numbers(text)
		for n := 0; n < len(text) && whole != nil; n += every {
			for key, v := range numbers(text[:n]) {
				seen++
				if w, ok := whole[key]; !ok || v != w {
					t.Errorf("%s, cut to %d of %d bytes: %s is %v, not %v", name, n, len(text), key, v, w)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no cut file was read")
	}
}

// TestDamaged wants a file that has the name of a form and not the form itself refused with its line.
func TestDamaged(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"a.json", "", "a.json is empty"},
		{"a.csv", " \n", "a.csv is empty"},
		{"a.json", "{\n\"a\":1,\n", "a.json:2: the JSON cannot be read: unexpected end of JSON input"},
		{"a.json", "{}\nx", "a.json:2: the JSON cannot be read: "},
		{"a.xml", "<a>\n<b>", "a.xml:2: the XML cannot be read: "},
		{"a.xml", "text", "a.xml:1: the XML cannot be read: it has no element"},
		{"a.json", `{"a":NaN}`, ""},
		{"a.json", "{}\n{}", ""},
		{"a.json", `{"a":1,"a":2}`, ""},
		{"a.json", strings.Repeat("[", 101) + strings.Repeat("]", 101), ""},
		{"a.xml", "<a/>", ""},
		{"a.csv", "a", ""},
	} {
		if err := Damaged([]byte(tt.text), tt.file); (err == nil) != (tt.want == "") ||
			err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s %q: %v, not %q", tt.file, tt.text, err, tt.want)
		}
	}
}
