package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"

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
	r.left.Of(model.LeftOut{Name: strings.ToValidUTF8(name[:min(len(name), longest)], ""), Why: why})
}

// account leaves out the numbers of the file that its format does not know and the reader did not take.
func (r *run) account(a account) {
	matches := func(p *regexp.Regexp, name string) bool {
		return p != nil && len(name) <= longestMetric && p.MatchString(name)
	}
	told := map[[2]string]bool{}
	// unknown looks at a number by its own key and the one that names it.
	unknown := func(name, leaf string, level int) {
		if told[[2]string{name, leaf}] {
			return
		}
		told[[2]string{name, leaf}] = true
		_, _, _, meant := ofServing(name)
		switch known := matches(a.known, name) || r.taken[name] || a.load && (meant || matches(setting(), normal(name))); {
		case known && a.statistics != nil && level > a.level && !a.statistics.MatchString(leaf):
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
		a.numbers(r.text, func(key string) bool { return matches(a.parts, key) }, unknown)
	}
}

// numbers gives each number of a JSON file, of several values one after the other: the key that names it, its own key
// and how many are around it. Those below the key of a part are left out.
func (a account) numbers(text []byte, isPart func(key string) bool, each func(name, leaf string, level int)) {
	type level struct{ object, value bool } // value: the next token is that of a key
	var open []level
	type step struct {
		key  string
		part bool // it is the key of one, or stands below one
	}
	path := []step{{}}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return
		}
		in, last := len(open)-1, len(path)-1
		if key, ok := token.(string); ok && in >= 0 && open[in].object && !open[in].value {
			key = key[:min(len(key), longest+1)]
			path, open[in].value = append(path, step{key, path[last].part || isPart(key)}), true
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
		case json.Number:
			if last > 0 && !path[last-1].part {
				name := path[last].key
				if a.level > 0 {
					name = path[min(a.level, last)].key
				}
				each(name, path[last].key, last)
			}
		}
		if in >= 0 && open[in].object {
			path, open[in].value = path[:last], false
		}
	}
}

// attributes gives each number in the attributes of an XML file by the attribute's name, that of a property by its own.
func (r *run) attributes(each func(name, leaf string, level int)) {
	d := r.xml()
	for token, err := d.Token(); err == nil; token, err = d.Token() {
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		own := attribute(e, "name")
		for _, a := range e.Attr {
			name := a.Name.Local
			if name == "value" && own != "" {
				name = own
			}
			if _, err := strconv.ParseFloat(a.Value, 64); err == nil && a.Name.Local != "name" {
				each(name, name, 1)
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
