package ncu

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
)

// The numbers of the fields, by the messages of ncu's ProfilerReport.proto.
const (
	headerSources, headerResults, headerStrings, headerRanges = 1, 2, 4, 7
	resultMangled, resultFunction, resultDemangled            = 5, 6, 7
	resultGrid, resultBlock                                   = 10, 11
	resultMetric                                              = 13
	resultStream                                              = 23
	metricName, metricValue                                   = 1, 2
	valueText, valueFloat, valueDouble, valueUint32           = 1, 2, 3, 4
	valueUint64                                               = 5
)

// ReadReport reads a report (.ncu-rep) without ncu: of the layout that ncu has written since 2020, each kernel with its
// metrics. Values stand there in base units and in full. Its place in messages is the number of the launch.
func ReadReport(report string, raw ...string) (*counters.Profile, error) {
	r, err := openReport(report)
	if err != nil {
		return nil, err
	}
	defer r.f.Close()
	x := results{report: r, builder: newBuilder(r.name, raw)}
	// A launch may use a name that only the table of a later block holds. What is wrong with a block the second walk
	// finds as well.
	r.blocks(x.names)
	r.at = 0
	if err := r.blocks(x.block); err != nil {
		return nil, err
	}
	if x.profile.Launches == 0 {
		return nil, model.Refuse(model.NoKernels,
			"compare ncu's kernel filter with the kernels that the workload launches",
			"%s%s holds no kernel", r.name, r.by())
	}
	x.finish()
	return x.profile, nil
}

// results puts the launches of a report together.
type results struct {
	report *reportFile
	builder
	strings []string // the names of metrics: the tables of all blocks, one behind the other
	kept    []bool   // which of them are used
	found   []string // by the current launch
	values  []value  // of these
}

func (x *results) fail(format string, args ...any) error {
	return model.Refuse(model.Damaged, "copy it again, or profile again", "%s%s is damaged: %s", x.report.name,
		x.report.by(), fmt.Sprintf(format, args...))
}

// block reads the payload of a block: sources, results and results of ranges, each behind its length.
func (x *results) block(header message, end int64) error {
	// resultLimit is the largest result that is read, in bytes. One of --set full with its sources has a few MB.
	const resultLimit = 256 << 20
	sources, _ := header.number(headerSources)
	count, _ := header.number(headerResults)
	if ranges, _ := header.number(headerRanges); ranges > 0 {
		return ErrLayout
	}
	for i := range sources + count {
		if x.report.at+4 > end {
			return x.fail("a block holds less than it counts")
		}
		n, err := x.report.length()
		switch {
		case err != nil:
			return err
		case x.report.at+n > end:
			return x.fail("a part is longer than its block")
		case i < sources: // code of kernels
			err = x.report.move(n)
		case n > resultLimit:
			return ErrLayout
		default:
			var result message
			if result, err = x.report.read(n); err == nil {
				err = x.result(result)
			}
		}
		if err != nil {
			return err
		}
	}
	if x.report.at != end {
		return x.fail("a block holds more than it counts")
	}
	return nil
}

// names adds the string table of a block to those before it.
func (x *results) names(header message, _ int64) error {
	table, _ := header.find(headerStrings)
	table.bytes.each(func(f field) bool {
		if f.id == 1 {
			name := string(f.bytes)
			x.strings, x.kept = append(x.strings, name), append(x.kept, x.keeps(name))
		}
		return true
	})
	return nil
}

func (x *results) result(m message) error {
	number := x.profile.Launches + 1
	l := &launch{file: x.report.name, line: number}
	x.found, x.values = x.found[:0], x.values[:0]
	metrics, problem := 0, ""
	whole := m.each(func(f field) bool {
		switch f.id {
		case resultMangled, resultFunction, resultDemangled:
			if len(f.bytes) > 0 { // the fields come in order: the last is the one that ncu shows
				l.is[kernel] = string(f.bytes)
			}
		case resultGrid:
			l.is[grid] = f.bytes.dimensions()
		case resultBlock:
			l.is[block] = f.bytes.dimensions()
		case resultStream:
			l.is[stream] = strconv.FormatUint(f.number, 10)
		case resultMetric:
			metrics++
			problem = x.metric(l, f.bytes)
		}
		return problem == ""
	})
	switch {
	case !whole:
		return x.fail("launch %d is no message", number)
	case problem != "":
		return x.fail("launch %d: %s", number, problem)
	case l.is[kernel] == "range" && l.is[stream] == "": // a range has no stream of its own
		return ErrLayout
	case metrics == 0:
		return model.Refuse(model.CounterFailed, "profile again, and read what ncu says of it",
			"%s: launch %d, of %s, has no metrics: ncu failed to profile it", x.report.name, number,
			quote(l.is[kernel]))
	}
	x.profile.Cells += metrics
	return x.record(l, x.found, x.values)
}

// metric reads a metric of a launch and gives its error, "" for none.
func (x *results) metric(l *launch, m message) string {
	const deviceID = "launch__device_id"
	id, ok := m.number(metricName)
	if !ok || id >= uint64(len(x.strings)) {
		return "a metric without a name"
	}
	name := x.strings[id]
	if !x.kept[id] && name != deviceID {
		return ""
	}
	content, _ := m.find(metricValue)
	v, ok := valueOf(content.bytes)
	if !ok {
		return "metric " + quote(name) + " has no value of a known kind"
	}
	if name == deviceID {
		l.is[device] = v.text
	}
	if !x.kept[id] {
		return ""
	}
	// A metric measured in two sets of passes stands twice. The last value belongs to the other metrics of the launch.
	if i := slices.Index(x.found, name); i >= 0 {
		x.values[i] = v
		return ""
	}
	x.found, x.values = append(x.found, name), append(x.values, v)
	return ""
}

// valueOf reads the value of a metric. A metric that the GPU lacks has no value.
func valueOf(m message) (v value, ok bool) {
	v.number, ok = math.NaN(), true
	whole := m.each(func(f field) bool {
		switch {
		case f.id == valueText && f.kind == protowire.BytesType:
			v.number, v.text = math.NaN(), string(f.bytes)
			return true
		case f.id == valueFloat && f.kind == protowire.Fixed32Type:
			v.number = float64(math.Float32frombits(uint32(f.number)))
		case f.id == valueDouble && f.kind == protowire.Fixed64Type:
			v.number = math.Float64frombits(f.number)
		case (f.id == valueUint32 || f.id == valueUint64) && f.kind == protowire.VarintType:
			v.number = float64(f.number)
		default:
			ok = false
		}
		v.text = strconv.FormatFloat(v.number, 'g', -1, 64)
		return true
	})
	if math.IsInf(v.number, 0) {
		v.number = math.NaN()
	}
	return v, ok && whole
}

// dimensions writes three numbers as ncu does: "(1, 2, 3)".
func (m message) dimensions() string {
	var text [3]string
	for i := range text {
		n, _ := m.number(protowire.Number(i + 1))
		text[i] = strconv.FormatUint(n, 10)
	}
	return "(" + strings.Join(text[:], ", ") + ")"
}
