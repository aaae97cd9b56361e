package bench

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// ofJUnit accounts for the counts of a suite; other attributes and properties are left out.
var ofJUnit = account{known: names("time|tests|failures|errors|skipped|disabled|assertions|id|line|timestamp|" +
	"hostname|version|retries|rerun|flakes|classname")}

// xml decodes the file in its character set.
func (r *run) xml() *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(r.text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) {
		if utf8.Valid(r.text) {
			return in, nil
		}
		return cells.Latin(in), nil
	}
	return d
}

// readJUnit reads the times of the tests in a JUnit file, in seconds. Tests that failed are an error, skipped ones are
// left out.
func readJUnit(r *run) error {
	type suite struct{ name, full string }
	suites := []suite{{}} // around the test, the outermost without a name
	seen := map[string]int{}
	for d := r.xml(); ; {
		token, err := d.Token()
		if token == nil {
			return r.endOfXML(err)
		}
		in := suites[len(suites)-1]
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local == "testsuite" {
				suites = suites[:len(suites)-1]
			}
		case xml.StartElement:
			switch e.Name.Local {
			case "testsuite":
				in.name = attribute(e, "name")
				in.full = InSuite(in.full, in.name)
				line, _ := d.InputPos()
				if !r.named(fmt.Sprintf("line %d", line), in.full) {
					return r.err
				}
				seen[in.full]++
				suites = append(suites, in)
			case "testcase":
				r.suite = strings.TrimPrefix(in.full, "/")
				if n := seen[in.full]; n > 1 { // such as each run of pytest in a joined file
					r.suite += fmt.Sprint("#", n)
				}
				if err := cmp.Or(r.addTest(d, e, in.name), r.err); err != nil {
					return err
				}
			}
		}
	}
}

// addTest adds the test that starts here. One without a class has the name of its suite.
func (r *run) addTest(d *xml.Decoder, start xml.StartElement, suite string) error {
	line, _ := d.InputPos()
	where := fmt.Sprintf("line %d", line)
	var t struct {
		Class string   `xml:"classname,attr"`
		Name  string   `xml:"name,attr"`
		Time  string   `xml:"time,attr"`
		State string   `xml:"status,attr"`
		Fail  []string `xml:"failure"`
		Error []string `xml:"error"`
		Skip  *string  `xml:"skipped"`
	}
	if err := d.DecodeElement(&t, &start); err != nil {
		return r.endOfXML(err)
	}
	row := strings.TrimPrefix(cmp.Or(t.Class, suite)+"."+t.Name, ".")
	switch {
	case t.Skip != nil, t.State == "notrun", t.State == "disabled":
		r.leave(row, model.Skipped)
		return nil
	case len(t.Fail)+len(t.Error) > 0:
		r.failed = append(r.failed, row)
		return nil
	case t.Time == "":
		return model.Refuse(model.BadValue, "have the test runner write the times of the tests",
			"%s: %s: %s has no time", r.file, where, measure.Quote(row))
	}
	value, err := number(t.Time)
	if err != nil {
		return r.bad(where, "the time of %s: %v", measure.Quote(row), err)
	}
	if value == 0 { // rounded
		r.leave(row, model.UnderClock)
		return nil
	}
	r.add(where, row, measure.Duration, value*second)
	return nil
}

func attribute(of xml.StartElement, name string) string {
	i := slices.IndexFunc(of.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
	if i < 0 {
		return ""
	}
	return of.Attr[i].Value
}

// endOfXML is the error of XML that does not end as it should, nil at its end.
func (r *run) endOfXML(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return model.Refuse(model.Damaged, again, "%s: the XML is not that of JUnit: %v", r.file, err)
}
