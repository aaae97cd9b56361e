package nsys

import (
	"cmp"
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

const (
	// markEvent is the event type of a mark. nsys writes the Python stack of each CUDA call whose backtrace it recorded
	// into a mark whose text begins with pythonDomain.
	markEvent    = 34
	pythonDomain = "Python Backtrace on CUDA"
)

// readCallers finds the CUDA calls whose stacks were recorded. nsys lists such a call twice: as any other, and with the
// stack in a row of its own.
func (r *reader) readCallers() error {
	if r.db.tables[chainTable] == nil || !r.db.has(runtimeTable, "callchainId") {
		return nil
	}
	columns := []string{"start", "end", "globalTid", "correlationId", "nameId", "callchainId"}
	byThread := make(map[int64][]*backtraced)
	err := r.db.scanNeeded(runtimeTable, 5, columns, func(row *row) {
		if p := r.of(row.intOr(2, 0)); p != nil && !row.null(5) {
			x := &backtraced{row.int(0), row.int(1), row.intOr(2, 0), row.intOr(3, 0), row.int(4), row.int(5), ""}
			p.traced = append(p.traced, x)
			byThread[x.tid] = append(byThread[x.tid], x)
		}
	})
	if err != nil || len(byThread) == 0 {
		return err
	}
	for _, calls := range byThread {
		slices.SortFunc(calls, func(a, b *backtraced) int { return cmp.Compare(a.start, b.start) })
	}
	if r.db.has(rangeTable, "jsonText") {
		err = r.db.scan(rangeTable, []string{"start", "globalTid", "jsonText", "eventType"}, func(row *row) {
			if kind, ok := row.integer(3); !ok || kind != markEvent || !row.begins(2, `{"`+pythonDomain+`"`) {
				return
			}
			at, calls := row.int(0), byThread[row.intOr(1, 0)]
			i, exact := slices.BinarySearchFunc(calls, at,
				func(x *backtraced, at int64) int { return cmp.Compare(x.start, at) })
			if !exact {
				i--
			}
			if i >= 0 && at <= calls[i].end {
				calls[i].python = row.text(2)
			}
		})
		if err != nil {
			return err
		}
	}
	return r.readFrames()
}

// readFrames reads the stacks of machine code, of the calls that have none of Python, and the strings of all stacks.
func (r *reader) readFrames() error {
	needed := make(map[int64]bool)
	for _, p := range r.processes {
		for _, x := range p.traced {
			if x.python == "" {
				needed[x.chain] = true
			}
		}
	}
	r.chains = make(map[int64][]nativeFrame)
	err := r.db.scan(chainTable, []string{"id", "symbol", "module", "unresolved", "stackDepth"}, func(row *row) {
		if id := row.intOr(0, 0); needed[id] && row.intOr(3, 0) == 0 {
			r.chains[id] = append(r.chains[id], nativeFrame{row.intOr(4, 0), row.intOr(1, noName),
				row.intOr(2, noName)})
		}
	})
	if err != nil {
		return err
	}
	for _, frames := range r.chains {
		measure.Sort(frames, func(a, b nativeFrame) int { return cmp.Compare(a.depth, b.depth) })
	}
	// The strings that are missing so far: few, and only in recordings with stacks.
	return r.db.scan("StringIds", []string{"id", "value"}, func(row *row) {
		id := row.int(0)
		if _, known := r.strings[id]; !known {
			r.strings[id] = strings.TrimSpace(row.text(1))
		}
	})
}

// callers groups the calls of a process by launched kernel and call stack. The launches must have their final kernels
// and still be in the order of p.ids.
func (r *reader) callers(p *process) []model.Caller {
	if len(p.traced) == 0 {
		return nil
	}
	kernel := make(map[int64]int32, len(p.ids))
	for i, id := range p.ids {
		if id != 0 {
			kernel[id] = p.launches[i].Kernel
		}
	}
	var stacks model.Interned[string]
	var out []model.Caller
	for _, x := range p.traced {
		k, ok := kernel[x.id]
		if !ok {
			k = -1
		}
		call := model.Unversioned(r.strings[x.name])
		key := strconv.Itoa(int(k)) + " " + call + " " + x.python
		for _, f := range r.chains[x.chain] {
			key += " " + strconv.FormatInt(f.symbol, 36) + "," + strconv.FormatInt(f.module, 36)
		}
		i, isNew := stacks.Of(key)
		if isNew {
			c := model.Caller{Kernel: k, Call: measure.NormalizeLine(call), Python: r.pythonFrames(x.python)}
			for _, f := range r.chains[x.chain] {
				c.Native = append(c.Native, model.Frame{Function: r.frameText(f.symbol), File: r.frameText(f.module)})
			}
			out = append(out, c)
		}
		out[i].Calls = append(out[i].Calls, model.Interval{Start: x.start, End: max(x.start, x.end)})
	}
	out = slices.DeleteFunc(out, func(c model.Caller) bool { return len(c.Python)+len(c.Native) == 0 })
	for _, c := range out {
		slices.SortFunc(c.Calls, func(a, b model.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
	measure.Sort(out, func(a, b model.Caller) int { return cmp.Compare(len(b.Calls), len(a.Calls)) })
	return out
}

// pythonFrames reads a stack of Python. Names are numbers of StringIds, with "<" escaped as in HTML.
func (r *reader) pythonFrames(text string) []model.Frame {
	var stack map[string]struct {
		Frames []struct {
			Function, File any
			Line           int
		}
	}
	if text == "" || json.Unmarshal([]byte(text), &stack) != nil {
		return nil
	}
	name := func(v any) string {
		switch v := v.(type) {
		case float64:
			return r.frameText(int64(v))
		case string:
			return measure.NormalizeLine(html.UnescapeString(v))
		}
		return ""
	}
	var out []model.Frame
	for _, f := range stack[pythonDomain].Frames {
		out = append(out, model.Frame{Function: name(f.Function), File: name(f.File), Line: max(f.Line, 0)})
	}
	return out
}

func (r *reader) frameText(id int64) string {
	return measure.NormalizeLine(html.UnescapeString(r.strings[id]))
}
