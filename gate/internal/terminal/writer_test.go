package terminal

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func written(form Form, writes ...string) string {
	var b strings.Builder
	w := New(&b, form)
	for _, s := range writes {
		w.Write([]byte(s))
	}
	return b.String()
}

func TestWriter(t *testing.T) {
	ascii := Form{ASCII: true}
	for _, c := range []struct {
		form     Form
		in, want string
	}{
		{Form{}, "nsgate: µs\n", "nsgate: µs\n"},
		{Form{}, "a\n::error title=x::y\n", "a\n:∶error title=x::y\n"},
		{Form{}, " \t::stop-commands::x\n", " \t:∶stop-commands::x\n"},
		{Form{}, "\u00a0::x", "\u00a0:∶x"},
		{Form{}, "\r::x", " :∶x"},
		{Form{}, "x ##[error]y ##vso[task.z]\n", "x ##⟦error]y ##vso⟦task.z]\n"},
		{Form{}, "##teamcity[a ###[b ##VSO[c", "##teamcity⟦a ###⟦b ##VSO⟦c"},
		{Form{}, "## Title [x] #[y] a::b std::[z]", "## Title [x] #[y] a::b std::[z]"},
		{Form{}, "\x1b]0;title\a\x1b[31mred\tgreen", "\ufffd]0;title\ufffd\ufffd[31mred\tgreen"},
		{Form{}, "\u009b31m\u202ex\u2066\u200b\xff\u0085y", "\ufffd31m\ufffdx\ufffd\ufffd\ufffd y"},
		{Form{Colour: true}, "\x1b[31mred\x1b[0m\x1b[8mx\x1b[31", "\x1b[31mred\x1b[0m\ufffd[8mx\ufffd[31"},
		{Form{Colour: true}, "\x1b[2m::x ##\x1b[0m[y", "\x1b[2m:∶x ##\x1b[0m⟦y"},
		{ascii, "██[error]x\n∶:y …µ\u00a0漢\u202e", "##(error]x\n.:y ...u ??"},
		{ascii, "♯#[x", "+#[x"},
		{Form{Syntax: Data, ASCII: true}, "██[error]x µ", "██[error]x µ"},
		{Form{Syntax: JSON}, `{"##[error]": "##vso[x ` + "\u202e\u009b\u00a0\U000e0001" + `"}` + "\n",
			`{"##\u005berror]": "##vso\u005bx \u202e\u009b\u00a0\udb40\udc01"}` + "\n"},
		{Form{Syntax: Markup}, "<p>\n::x ##[y \u202e</p>", "<p>\n:&#58;x ##&#91;y \ufffd</p>"},
	} {
		if got := written(c.form, c.in); got != c.want {
			t.Errorf("%+v: %q is written as %q, want %q", c.form, c.in, got, c.want)
		}
	}
	// Text that is written raw begins a line.
	var b strings.Builder
	w := New(&b, Form{})
	w.Write([]byte("x"))
	w.Raw().Write([]byte("\r\x1b[K::notice::y\n"))
	New(w, Form{ASCII: true}).Write([]byte("::z"))
	if want := "x\r\x1b[K::notice::y\n:.z"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// A text is written the same in any pieces.
func TestPieces(t *testing.T) {
	const text = "::a##[b] µ漢█\n\t::##vso[x \xff\xe6\xbc"
	for _, form := range []Form{{}, {ASCII: true}, {Syntax: JSON}, {Syntax: Markup}} {
		if got, want := written(form, strings.Split(text, "")...), written(form, text); got != want {
			t.Errorf("%+v: %q, want %q", form, got, want)
		}
		var bytes []string
		for i := range len(text) {
			bytes = append(bytes, text[i:i+1])
		}
		if got, want := written(form, bytes...), written(form, text); got != want {
			t.Errorf("%+v: %q, want %q", form, got, want)
		}
	}
}

var (
	obeyed = regexp.MustCompile(`(?im)^\s*::|##[a-z0-9]*\[`)
	sgr    = regexp.MustCompile("\x1b\\[(0|2|31|32|33)m")
)

// forms are all forms that are written.
var forms = []Form{{}, {ASCII: true}, {Colour: true}, {ASCII: true, Colour: true},
	{Syntax: Data}, {Syntax: JSON}, {Syntax: Markup}}

// special are the characters that markup replaces, and its own.
func special(r rune) bool { return r == '&' || r != '\n' && r != '\t' && !unicode.IsPrint(r) }

// FuzzWriter holds for every text: no command or control character is left, and JSON and markup say the same.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{"", "::error::x", "##[error]x", "██[error]x", "█#vso[x", "\x1b[31m##[x", "\x1b[2m::x",
		"a\n\u2003::x", "\u0085::x", "#\u200b#[x",
		"\x00\x1b]0;x\a", "\u202e\u2066\u009b", "\xff\xfe", "#\xff#[", "\ufeff::x", "\U000e0001", "\\u0023", "##漢["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range forms {
			in := s
			if form.Syntax == JSON {
				text, err := json.Marshal(s)
				if err != nil {
					t.Skip()
				}
				in = string(text)
			}
			got := written(form, in)
			plain := sgr.ReplaceAllString(got, "")
			if !form.Colour && plain != got || obeyed.MatchString(plain) || !utf8.ValidString(got) {
				t.Errorf("%+v: %q is written as %q", form, s, got)
			}
			for _, r := range plain {
				if r != '\n' && r != '\t' && r != noBreak && !unicode.IsPrint(r) || form.ASCII && r > unicode.MaxASCII {
					t.Errorf("%+v: %U in %q", form, r, got)
				}
			}
			if again := written(form, got); again != got {
				t.Errorf("%+v: %q becomes %q", form, got, again)
			}
			if form.Syntax == JSON {
				var want, have string
				json.Unmarshal([]byte(in), &want)
				if json.Unmarshal([]byte(got), &have) != nil || want != have {
					t.Errorf("%q means %q, not %q", got, have, want)
				}
			}
			if form.Syntax == Markup && !strings.ContainsFunc(s, special) && utf8.ValidString(s) &&
				html.UnescapeString(got) != s {
				t.Errorf("%q means not %q", got, s)
			}
		}
	})
}
