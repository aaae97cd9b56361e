package nsysstats

import (
	"github.com/nsgate/nsgate/gate/measure"
)

// traceRow is a row of cuda_gpu_trace: a kernel, a copy or a memset.
type traceRow struct {
	Start     string `csv:"start"`
	Duration  string `csv:"duration"`
	GridX     string `csv:"grdx"`
	GridY     string `csv:"grdy"`
	GridZ     string `csv:"grdz"`
	BlockX    string `csv:"blkx"`
	BlockY    string `csv:"blky"`
	BlockZ    string `csv:"blkz"`
	Registers string `csv:"reg/trd"`
	Static    string `csv:"stcsmem"`
	Dynamic   string `csv:"dymsmem"`
	Bytes     string `csv:"bytes"`
	Rate      string `csv:"throughput"`
	Source    string `csv:"srcmemkd"`
	Target    string `csv:"dstmemkd"`
	Device    string `csv:"device"`
	Stream    string `csv:"strm"`
	Name      string `csv:"name"`
}

// traceReader reads the rows of a cuda_gpu_trace. What it asks of the header it asks once, not for each of a million rows.
type traceReader struct {
	*rows
	t                                                                    *table
	start, duration, static, dynamic, bytes, rate                        unit
	hasGeometry, hasRegisters, hasStatic, hasDynamic, hasStream, hasRate bool
}

func (r *rows) readTrace(t *table) error {
	if err := r.need(r.file, r.from, "start", "duration", "name"); err != nil {
		return err
	}
	if r.hasAny("grdx", "grdy", "grdz", "blkx", "blky", "blkz") {
		if err := r.need(r.file, r.from, "grdx", "grdy", "grdz", "blkx", "blky", "blkz"); err != nil {
			return err
		}
	}
	x := &traceReader{rows: r, t: t, hasGeometry: r.has("grdx"), hasRegisters: r.has("reg/trd"), hasStatic: r.has("stcsmem"),
		hasDynamic: r.has("dymsmem"), hasStream: r.has("strm")}
	times, err := r.times("start", "duration")
	if err != nil {
		return err
	}
	x.start, x.duration = times[0], times[1]
	for _, size := range []struct {
		name string
		to   *unit
	}{{"stcsmem", &x.static}, {"dymsmem", &x.dynamic}, {"bytes", &x.bytes}} {
		if *size.to, err = r.size(r.file, r.from, size.name); err != nil {
			return err
		}
	}
	rate, _ := r.find("throughput")
	x.rate, x.hasRate = rateUnits[rate.unit]
	t.traced = newTraced()
	if err := each(r, x.row); err != nil {
		return err
	}
	t.traced.resize()
	return r.coarse(t.units)
}

func (x *traceReader) row(row traceRow) error {
	start, end, err := x.span(field{"start", row.Start, x.start}, field{"duration", row.Duration, x.duration}, &x.t.units)
	if err != nil {
		return err
	}
	if row.Name == "" {
		return x.refuse("the row has no name", fromReport)
	}
	if kind, ok := operation(row.Name); ok {
		return x.copy(kind, row, start, end)
	}
	if label.MatchString(row.Name) {
		x.t.traced.ignored[quote(row.Name)]++
		return nil
	}
	k := kernel{name: row.Name, registers: -1, static: -1, dynamic: -1}
	if x.hasGeometry {
		if err := x.geometry(&k, row); err != nil {
			return err
		}
	}
	if x.hasRegisters {
		if k.registers, err = x.whole("reg/trd", row.Registers, 1<<16); err != nil {
			return err
		}
	}
	if x.hasStatic {
		if k.static, err = x.quantity("stcsmem", row.Static, x.static, largest); err != nil {
			return err
		}
	}
	if x.hasDynamic {
		if k.dynamic, err = x.quantity("dymsmem", row.Dynamic, x.dynamic, largest); err != nil {
			return err
		}
	}
	l := measure.Launch{Start: start, End: end, API: start, Range: -1, Stream: -1, Kernel: x.t.traced.intern(k)}
	if x.hasStream {
		stream, err := x.whole("strm", row.Stream, 1<<31-1)
		if err != nil {
			return err
		}
		l.Stream = int32(stream)
	}
	x.t.traced.add(l, x.t.traced.device(row.Device))
	return nil
}

func (x *traceReader) geometry(k *kernel, row traceRow) (err error) {
	for _, d := range [...]struct {
		name, cell string
		to         *uint32
	}{
		{"grdx", row.GridX, &k.grid.X}, {"grdy", row.GridY, &k.grid.Y}, {"grdz", row.GridZ, &k.grid.Z},
		{"blkx", row.BlockX, &k.block.X}, {"blky", row.BlockY, &k.block.Y}, {"blkz", row.BlockZ, &k.block.Z},
	} {
		if *d.to, err = x.extent(d.name, d.cell); err != nil {
			return err
		}
	}
	return nil
}

func (x *traceReader) copy(kind measure.CopyKind, row traceRow, start, end int64) error {
	if err := x.need(x.file, x.from, "bytes"); err != nil {
		return err
	}
	n, err := x.number("bytes", row.Bytes)
	if err != nil {
		return err
	}
	bytes, ok := n.int(x.bytes)
	if !ok || bytes > largest {
		return x.cell("bytes", row.Bytes, "is more than can be", again)
	}
	if step := n.step(x.bytes); step > 1 {
		rate, form := parse(row.Rate)
		known := false
		if x.hasRate && form == plain && x.t.units.duration <= 1 {
			var b int64
			if b, known = exact(n.float(x.bytes), step, end-start, rate.float(x.rate), rate.step(x.rate)); known {
				x.t.traced.sizes.learn(bytes, b)
				bytes = b
			}
		}
		if !known {
			x.t.traced.rounded = append(x.t.traced.rounded, len(x.t.traced.copies))
			x.t.units.size = max(x.t.units.size, step)
		}
	}
	c := measure.Copy{Start: start, End: end, API: start, Bytes: bytes, Range: -1, Kind: kind,
		Source: memory(row.Source), Target: memory(row.Target)}
	if kind == measure.Memset { // the one kind of memory of a memset stands in the first column
		c.Source, c.Target = measure.MemoryUnknown, c.Source
	}
	x.t.traced.copies = append(x.t.traced.copies, c)
	return nil
}
