package cells

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Form{
		"0": Whole, "00": Whole, "7": Whole, "0.5": Point, "482.333": ThreeAfterPoint, "1e+06": Point, "1.5E3": Point,
		"9223372036854775799": Whole,
		"1,234,567":           Thousands, "1,234.5": Thousands, "482,333": ThreeAfterComma, "0,000": Foreign,
		"0,57":   Foreign,
		"1234,5": Foreign, "1.234,5": Foreign,
		"1.234.567": Foreign, "-1": Whole, "-0.5": Point, "+5": Whole, "": NoNumber, "-": NoNumber, ".5": NoNumber,
		"5.": NoNumber, "1,23,456": Foreign,
		"nan": NoNumber, "inf": NoNumber, "0x10": NoNumber, "1_000": NoNumber, " 5": NoNumber, "5 ms": NoNumber,
		"1e999": NoNumber, "１": NoNumber,
		"9223372036854775807": NoNumber, "99999999999999999999": NoNumber, "12345678,9": Foreign, "0,123": Foreign,
		"10 776 576": Foreign, "1'234.5": Foreign, "0.123": Point, "1234.567": Point, "12.34": Point, "--1": NoNumber,
		"1.5.5": NoNumber,
	} {
		if _, got := Parse(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if n, _ := Parse("1,234,567.80"); n != (Number{Digits: 123456780, Places: 2}) {
		t.Errorf("%+v", n)
	}
	if n, _ := Parse("-1.5e-2"); n != (Number{Digits: -15, Places: 3}) {
		t.Errorf("%+v", n)
	}
}

// A number in a unit is rounded to the nearest of the base unit, exactly.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits, places := rapid.Int64Range(-1<<52, 1<<52).Draw(t, "digits"), rapid.IntRange(0, 12).Draw(t, "places")
		factor := rapid.SampledFrom([]int64{1, 1e3, 1024, 1e6, 1e9, 1 << 30}).Draw(t, "factor")
		text := fmt.Sprintf("%0*d", places+1, max(digits, -digits))
		if places > 0 {
			text = text[:len(text)-places] + "." + text[len(text)-places:]
		}
		if digits < 0 {
			text = "-" + text
		}
		n, form := Parse([]byte(text))
		if form == NoNumber {
			t.Fatalf("%q is no number", text)
		}
		exact := new(big.Rat)
		exact.SetString(text)
		exact.Mul(exact, new(big.Rat).SetInt64(factor))
		want, _ := new(big.Int).SetString(exact.FloatString(0), 10) // rounds half away from zero
		got, ok := n.Int(float64(factor))
		if !want.IsInt64() {
			if ok {
				t.Fatalf("%s fits as %d", text, got)
			}
			return
		}
		if !ok || got != want.Int64() {
			t.Fatalf("%s × %d = %d, %v; want %d", text, factor, got, ok, want)
		}
	})
	if n, _ := Parse("1152921504606846.0009"); n.Places != 3 {
		t.Errorf("%+v", n)
	} else if v, ok := n.Int(1000); !ok || v != 1152921504606846001 {
		t.Errorf("%d", v)
	}
	if n, ok := (Number{Digits: 12345, Places: 3}).Int(1024); !ok || n != 12641 {
		t.Errorf("12.345 KiB = %d", n)
	}
}

func TestUTF8(t *testing.T) {
	const text = "a,µ,𝛂\r\n"
	for _, in := range []string{text, "\uFEFF" + text, utf16Text(binary.LittleEndian, text),
		utf16Text(binary.BigEndian, text)} {
		if got, err := io.ReadAll(UTF8(bytes.NewReader([]byte(in)))); err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if got, err := io.ReadAll(UTF8(bytes.NewReader([]byte{'a', 0xb5, 0xff, 0xfe}))); err != nil ||
		string(got) != "a\xb5\xff\xfe" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLatin(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	want, _ := charmap.Windows1252.NewDecoder().Bytes(all)
	if got := Latin(all); !bytes.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

func utf16Text(order binary.ByteOrder, s string) string {
	var b bytes.Buffer
	_ = binary.Write(&b, order, uint16(0xfeff))
	_ = binary.Write(&b, order, utf16.Encode([]rune(s)))
	return b.String()
}

// TestJSON takes lines of JSON for what they are, and no line of a table or of a program's output.
func TestJSON(t *testing.T) {
	for line, want := range map[string]bool{
		`{`: true, ` },`: true, `[`: true, `  "name": "BM/8",`: true, `{"context":{"a":1}}`: true,
		`[{"name" : 1}]`: true, "    0.00123,\r": true, "[1.5e-06, 2E+3],": true, "ERROR: 3": false, "1,2,k": false,
		"": true, `"ID","Process ID"`: false, `"Time (%)","Total Time (ns)"`: false,
		"[2026-11-20 10:00] Processing": false,
		"==PROF== Connected":            false, "Time (%),Total": false, `"Kernel Name","a:b"`: false, `"a"`: false,
		`"`: false,
	} {
		if got := JSON(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// A log is read as the text that its first process wrote; other texts as they are.
func TestLog(t *testing.T) {
	read := func(text string) string {
		all, err := io.ReadAll(iotest.OneByteReader(UTF8(strings.NewReader(text))))
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	long := strings.Repeat("x", 9000)
	for _, front := range []string{"2026-01-02T03:04:05.1234567Z ", "2026-01-02 03:04:05,123 ", "[1,0]<stdout>:", "0: ",
		"  3: ", "[rank0]: ", "[pod/a/b] ", "web_1  | ", "2026-01-02T03:04:05Z 01O [1,0]<stderr>: "} {
		text := front + "a, b\n" + front + long + "\n" + front + "1: 2\n" + front + "\n" + front + "end"
		if got, want := read(text), "a, b\n"+long+"\n1: 2\n\nend"; got != want {
			t.Errorf("%q: %.80q", front, got)
		}
	}
	// Tables of two processes are not one.
	if got := read("[1,0]<stdout>:a\n[1,1]<stdout>:a\n[1,0]<stdout>:1\n"); got != "a\n[1,1]<stdout>:a\n1\n" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ -~]{0,3}[A-Za-z"{#,]?[ -~]{0,20}`)
		lines := rapid.SliceOfN(line, 0, 6).Draw(t, "lines")
		for i := range lines { // none begins as a line of a log
			if at, _ := front([]byte(lines[i])); at > 0 {
				lines[i] = "a"
			}
		}
		text := strings.Join(lines, "\n")
		all, _ := io.ReadAll(UTF8(strings.NewReader(text)))
		if string(all) != text {
			t.Errorf("%q became %q", text, all)
		}
	})
}
