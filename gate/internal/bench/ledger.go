package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// account is how a format accounts for its numbers: those that are neither read nor known are left out by name.
type account struct {
	// known matches names of numbers that are read, or are deviations, counts or another view of what is read.
	known *regexp.Regexp
	// parts matches keys of objects that the reader takes whole, or that hold settings and versions.
	parts *regexp.Regexp
	// level is the depth of the key that names a number, the outermost 1; 0 is the innermost.
	level int
	// statistics matches the keys below a known name of that depth.
	statistics *regexp.Regexp
	// load is true for files of load generators, whose names tell what they mean.
	load bool
}

// names makes the pattern of an account.
func names(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// leave lists a number or row that is left out.
func (r *run) leave(name, why string) {
	r.left.Of(model.LeftOut{Name: measure.Cut(name), Why: why})
}

// account leaves out the numbers of the file that its format does not know and the reader did not take.
func (r *run) account(a account) {
	unknown := func(path []string) {
		if len(path) == 0 {
			return
		}
		leaf := path[len(path)-1]
		name := leaf
		if a.level > 0 {
			name = path[min(a.level, len(path))-1]
		}
		matches := func(p *regexp.Regexp, name string) bool { return p != nil && p.MatchString(name) }
		inPart := func(key string) bool { return matches(a.parts, key) }
		_, _, _, meant := ofServing(name)
		switch known := matches(a.known, name) || r.taken[name] || a.load && (meant || setting().MatchString(normal(name))); {
		case slices.ContainsFunc(path[:len(path)-1], inPart):
		case known && a.statistics != nil && len(path) > a.level && !a.statistics.MatchString(leaf):
			r.leave(name+"."+leaf, model.UnknownName)
		case known:
		case a.load && withoutUnit(name):
			r.leave(name, model.NoUnit)
		default:
			r.leave(name, model.UnknownName)
		}
	}
	if a == (account{}) {
		return
	}
	switch r.text[0] {
	case '<':
		r.attributes(unknown)
	case '{', '[':
		numbers(r.text, unknown)
	}
}

// numbers gives the keys around each number of a JSON file, of several values one after the other.
func numbers(text []byte, each func(path []string)) {
	type level struct{ object, value bool } // value: the next token is that of a key
	var open []level
	var path []string
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err != nil {
			return
		}
		in := len(open) - 1
		if key, ok := token.(string); ok && in >= 0 && open[in].object && !open[in].value {
			path, open[in].value = append(path, key), true
			continue
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				open = append(open, level{object: v == '{'})
				continue
			}
			open = open[:in]
			in--
		case float64:
			each(path)
		}
		if in >= 0 && open[in].object {
			path, open[in].value = path[:len(path)-1], false
		}
	}
}

// attributes gives each number in the attributes of an XML file by the attribute's name, that of a property by its own.
func (r *run) attributes(each func(path []string)) {
	d := r.xml()
	for token, err := d.Token(); err == nil; token, err = d.Token() {
		e, ok := token.(xml.StartElement)
		for _, a := range e.Attr {
			name := a.Name.Local
			if own := attribute(e, "name"); name == "value" && own != "" {
				name = own
			}
			if _, err := strconv.ParseFloat(a.Value, 64); ok && err == nil && a.Name.Local != "name" {
				each([]string{name})
			}
		}
	}
}

// significant is how many digits the values of a session have: few agree in two processes by chance.
func significant(s *model.Session) (digits int) {
	for i := range s.Series {
		for _, v := range s.Series[i].Values {
			mantissa, _, _ := strings.Cut(strconv.FormatFloat(v, 'e', 11, 64), "e")
			digits += len(strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0"))
		}
	}
	return digits
}

// ByChance reports whether files of two processes may have the same bytes: they hold no time, and few digits.
func ByChance(files ...string) bool {
	const most = 12
	s, err := Open(files...)
	return err == nil && s.Start.IsZero() && significant(s) <= most
}

// Unknown is the refusal of a file that has the form of results, and no metric by a name that is known: a flat JSON
// object with numbers, or one a line. It is nil for any other file.
func Unknown(text []byte, file string) error {
	var f map[string]any
	d := json.NewDecoder(bytes.NewReader(quoted(bytes.TrimSpace(text))))
	objects, some := 0, false
	for ; d.More(); objects++ {
		if f = nil; d.Decode(&f) != nil {
			break
		}
		for name, v := range f {
			switch v.(type) {
			case map[string]any, []any:
				return nil
			case float64:
				some = some || name != "Type" // of an event of a profiler
			}
		}
	}
	switch {
	case !some:
		return nil
	case objects > 1:
		return model.Refuse(model.OtherFormat,
			"compare files with one load each; `nsgate help benchmarks` lists the harnesses",
			"%s is JSON lines of no benchmark harness that nsgate knows", file)
	}
	return model.Refuse(model.NoMeasurement, "rename its numbers. "+knownNames(),
		"%s holds no metric by a known name", file)
}
