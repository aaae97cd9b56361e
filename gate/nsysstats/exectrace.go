package nsysstats

import (
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// execRow is a row of cuda_kern_exec_trace: a kernel and the call that launched it.
type execRow struct {
	Call     string `csv:"api start"`
	Start    string `csv:"kernel start"`
	Duration string `csv:"kernel dur"`
	Process  string `csv:"pid"`
	Thread   string `csv:"tid"`
	Device   string `csv:"devid"`
	Grid     string `csv:"gridxyz"`
	Block    string `csv:"blockxyz"`
	Name     string `csv:"kernel name"`
}

// execReader reads the rows of a cuda_kern_exec_trace.
type execReader struct {
	*rows
	t                     *table
	call, start, duration unit
	// calls is when each launch was called for, to find those that are listed twice.
	calls map[instance]int64
}

// instance is one execution of a kernel.
type instance struct {
	kernel     int32
	start, end int64
	by         thread
}

func (r *rows) readExec(t *table) error {
	if err := r.need(r.file, r.from, "api start", "kernel start", "kernel dur", "pid", "tid", "kernel name"); err != nil {
		return err
	}
	units, err := r.times("api start", "kernel start", "kernel dur")
	if err != nil {
		return err
	}
	t.traced = newTraced()
	x := &execReader{rows: r, t: t, call: units[0], start: units[1], duration: units[2], calls: map[instance]int64{}}
	if err := each(r, x.row); err != nil {
		return err
	}
	return r.coarse(t.units)
}

func (x *execReader) row(row execRow) error {
	start, end, err := x.span(field{"kernel start", row.Start, x.start}, field{"kernel dur", row.Duration, x.duration},
		&x.t.units)
	if err != nil {
		return err
	}
	call, err := x.quantity("api start", row.Call, x.call, latest)
	if err != nil {
		return err
	}
	if row.Name == "" {
		return x.refuse("the row has no name", fromReport)
	}
	k := kernel{name: row.Name, registers: -1, static: -1, dynamic: -1}
	if k.grid, err = x.extents("gridxyz", row.Grid); err != nil {
		return err
	}
	if k.block, err = x.extents("blockxyz", row.Block); err != nil {
		return err
	}
	var by thread
	if by.process, err = x.whole("pid", row.Process, highest); err != nil {
		return err
	}
	if by.thread, err = x.whole("tid", row.Thread, highest); err != nil {
		return err
	}
	d := gpu{number: -1}
	if x.has("devid") {
		n, err := x.whole("devid", row.Device, 1<<31-1)
		if err != nil {
			return err
		}
		d.number = int32(n)
	}
	// Releases that recorded a call of the runtime and that of the driver inside it list the kernel with both. Kernels of
	// a graph that look alike have the same call.
	at := instance{x.t.traced.intern(k), start, end, by}
	if first, ok := x.calls[at]; ok && first != call {
		x.t.traced.count[at.kernel]--
		return nil
	}
	x.calls[at] = call
	x.t.traced.threads = append(x.t.traced.threads, by)
	x.t.traced.add(measure.Launch{Start: start, End: end, API: call, Range: -1, Stream: -1, Kernel: at.kernel}, d)
	return nil
}

// extents reads the grid or block in one cell: " 896    1    1". A column that is missing gives the zero extent.
func (r *rows) extents(name, text string) (measure.Dim3, error) {
	var d measure.Dim3
	if !r.has(name) {
		return d, nil
	}
	parts := strings.Fields(text)
	if len(parts) != 3 {
		return d, r.cell(name, text, "is no extent of a grid or block", again)
	}
	for i, to := range []*uint32{&d.X, &d.Y, &d.Z} {
		var err error
		if *to, err = r.extent(name, parts[i]); err != nil {
			return d, err
		}
	}
	return d, nil
}
