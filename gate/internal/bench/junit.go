package bench

import (
	"bytes"
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
	var suites []string // around the test
	seen := map[string]int{}
	for d := r.xml(); ; {
		token, err := d.Token()
		if token == nil {
			return r.endOfXML(err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local == "testsuite" {
				suites = suites[:len(suites)-1]
			}
		case xml.StartElement:
			switch e.Name.Local {
			case "testsuite":
				suites = append(suites, attribute(e, "name"))
				seen[strings.Join(suites, "/")]++
			case "testcase":
				r.suite = strings.Join(suites, "/")
				if n := seen[r.suite]; n > 1 { // such as each run of pytest in a joined file
					r.suite += fmt.Sprint("#", n)
				}
				if err := r.addTest(d, e, suites); err != nil {
					return err
				}
			}
		}
	}
}

// addTest adds the test that starts here, below its suites. One without a class has the name of the innermost.
func (r *run) addTest(d *xml.Decoder, start xml.StartElement, suites []string) error {
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
	class := t.Class
	if n := len(suites); class == "" && n > 0 {
		class = suites[n-1]
	}
	row := strings.TrimPrefix(class+"."+t.Name, ".")
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
