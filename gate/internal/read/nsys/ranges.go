package nsys

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// domainCreated and categoryNamed are the event types of the creation of a domain and of the name of a category.
const domainCreated, categoryNamed = 75, 33

// ranged are the event types of a mark, of whole ranges, push/pop or start/end, recorded by nsys or imported from
// NvtxT, of a domain and of a category.
var ranged = []int64{markEvent, 59, 60, 70, 71, domainCreated, categoryNamed}

// readRanges reads the NVTX ranges of the processes that launched kernels. Ranges that end on another thread
// enclose no calls and are left out, as in NVIDIA's own reports.
func (r *reader) readRanges() error {
	expected := r.db.room(rangeTable)
	r.groups = make(map[group]rangeName)
	const longestRange = 4 << 10 // bytes: longer names are cut
	var digits [20]byte
	columns := []string{"start", "end", "eventType", "globalTid", "endGlobalTid", "domainId", "textId", "text",
		"jsonText", "category"}
	return r.db.scanNeeded(rangeTable, 4, columns, func(row *row) {
		kind := row.intOr(2, 0)
		if !slices.Contains(ranged, kind) {
			return
		}
		tid := row.intOr(3, 0)
		p := r.of(tid)
		if p == nil {
			return
		}
		if end := row.intOr(4, 0); end != 0 && end != tid {
			return
		}
		n := rangeName{process: p, domain: row.intOr(5, 0), mark: kind == markEvent, category: row.intOr(9, 0)}
		text := row.bytes(7, digits[:])
		text = text[:min(len(text), longestRange)]
		if len(text) == 0 {
			n.id = row.intOr(6, noName)
		}
		if kind == domainCreated || kind == categoryNamed {
			n.text = string(text)
			if kind == domainCreated {
				n.category = whole
			}
			r.groups[group{p, n.domain, n.category}] = n
			return
		}
		start, end := row.int(0), row.intOr(1, unended)
		if n.mark {
			end = start
		}
		if end < start {
			p.backward++
			return
		}
		if len(text) == 0 && n.id == noName {
			return
		}
		i, known := r.rangeNames.Number[rangeName{p, n.domain, n.id, string(text), n.mark, n.category}]
		if !known {
			n.text = string(text)
			i, _ = r.rangeNames.Of(n)
		}
		if p.ranges == nil && len(r.processes) == 1 {
			p.ranges = make([]model.Range, 0, expected)
		}
		thread, _ := p.tids.Of(tid)
		p.ranges = append(p.ranges, model.Range{Start: start, End: end, Name: i, Parent: -1, Thread: thread})
		if m := message(row.text(8)); m != (model.Message{}) {
			p.messages[[2]int64{int64(thread), start}] = m
		}
	})
}

// nameRanges resolves the names, drops ranges without one, and sorts and nests the others.
func (r *reader) nameRanges() error {
	index := make([]int32, len(r.rangeNames.List)) // into the names of the process
	for i, n := range r.rangeNames.List {
		text := measure.NormalizeRange(cmp.Or(n.text, r.strings[n.id]))
		if text == "" {
			index[i] = -1
			continue
		}
		if prefix := r.groupOf(group{n.process, n.domain, whole}); prefix != "" && n.domain != 0 {
			text = prefix + ":" + text
		}
		if n.mark {
			text = model.MarkPrefix + text
		}
		var isNew bool
		index[i], isNew = n.process.names.Of(text)
		if isNew {
			category := ""
			if n.category != 0 {
				category = cmp.Or(r.groupOf(group{n.process, n.domain, n.category}), strconv.FormatInt(n.category, 10))
			}
			n.process.categories = append(n.process.categories, category)
		}
	}
	for _, p := range r.processes {
		p.ranges = slices.DeleteFunc(p.ranges, func(x model.Range) bool { return index[x.Name] < 0 })
		for i := range p.ranges {
			p.ranges[i].Name = index[p.ranges[i].Name]
		}
		slices.SortStableFunc(p.ranges, func(a, b model.Range) int { // of equal starts the outer one comes first
			return cmp.Or(cmp.Compare(a.Start, b.Start), -cmp.Compare(a.End, b.End))
		})
		p.lines = model.Nest(len(p.ranges), func(i int) (*model.Range, int32) {
			return &p.ranges[i], p.ranges[i].Thread
		})
	}
	r.rangeNames = model.Interned[rangeName]{}
	return nil
}

// groupOf is the name of a domain or category, "" for none.
func (r *reader) groupOf(g group) string {
	n, ok := r.groups[g]
	if !ok {
		return ""
	}
	return measure.NormalizeRange(cmp.Or(n.text, r.strings[n.id]))
}

// message reads a payload in JSON, whose numbers may be text. Any other payload gives the zero message.
func message(payload string) model.Message {
	const messageBytes = "Message size [bytes]" // the key of a message's size in the payloads of NCCL's NVTX ranges
	if !strings.Contains(payload, messageBytes) && !strings.Contains(payload, "ommunicator ID") {
		return model.Message{}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(payload), &fields) != nil {
		return model.Message{}
	}
	number := func(names ...string) uint64 {
		for _, name := range names {
			if n, err := strconv.ParseUint(strings.Trim(string(fields[name]), `" `), 0, 64); err == nil {
				return n
			}
		}
		return 0
	}
	m := model.Message{Communicator: number("NCCL communicator ID", "Communicator ID")} // NCCL 2.27, and other releases
	if n := number(messageBytes); n <= math.MaxInt64 {
		m.Bytes = int64(n)
	}
	return m
}

// messagesOf are the messages by the ranges that they belong to.
func (p *process) messagesOf() map[int32]model.Message {
	if len(p.messages) == 0 {
		return nil
	}
	out := map[int32]model.Message{}
	for i, x := range p.ranges {
		if m, ok := p.messages[[2]int64{int64(x.Thread), x.Start}]; ok {
			out[int32(i)] = m
		}
	}
	return out
}
