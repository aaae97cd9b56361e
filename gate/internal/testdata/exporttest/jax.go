package exporttest

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Column is a column of a table as pandas writes it; a cell is nil for null, else a string, int or float64, as all of
// the column.
type Column struct {
	Name  string
	Cells []any
}

// Parquet writes a table as pandas does: every column may hold null, and has a dictionary unless Plain. options change
// that.
func Parquet(columns []Column, plain bool, options ...parquet.WriterOption) ([]byte, error) {
	columns = slices.SortedFunc(slices.Values(columns),
		func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	group := parquet.Group{}
	for _, c := range columns {
		node := parquet.Leaf(parquet.Int64Type)
		for _, v := range c.Cells {
			switch v.(type) {
			case string:
				node = parquet.String()
			case float64:
				node = parquet.Leaf(parquet.DoubleType)
			}
		}
		if plain {
			node = parquet.Encoded(node, &parquet.Plain)
		} else {
			node = parquet.Encoded(node, &parquet.RLEDictionary)
		}
		group[c.Name] = parquet.Optional(node)
	}
	var out bytes.Buffer
	options = append([]parquet.WriterOption{parquet.NewSchema("schema", group), parquet.Compression(&parquet.Snappy),
		parquet.DataPageVersion(1)}, options...)
	w := parquet.NewWriter(&out, options...)
	for i := range columns[0].Cells {
		var row parquet.Row
		for at, c := range columns {
			value, level := parquet.ValueOf(c.Cells[i]), 1
			if c.Cells[i] == nil {
				level = 0
			}
			row = append(row, value.Level(0, level, at))
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// Archive packs files.
func Archive(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to, err := w.Create(name)
		if err == nil {
			_, err = to.Write(files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// Projected is the table of projected ranges of 40 executions of a program of three operations on rank of some ranks,
// the second of them slower by a factor. Runs differ by their number.
func Projected(run, rank int, slower float64) []Column {
	title := []string{"Name", "Projected Start", "Projected Duration", "Orig Start", "Orig Duration", "Style", "PID",
		"TID", "NumGPUOps", "Lvl", "NumChild", "RangeId", "ParentId", "RangeStack", "Rank"}
	out := make([]Column, len(title))
	add := func(cells ...any) {
		for i, name := range title {
			out[i] = Column{name, append(out[i].Cells, cells[i])}
		}
	}
	add(nil, 1000, 5000, nil, nil, nil, 100+rank, 200+rank, 7, nil, 0, nil, nil, nil, 0) // outside of all ranges
	now, id := 1_000_000+1000*run, 10
	for step := range 40 {
		start, module := now, id
		durations := []int{100_000, int(200_000 * slower), 50_000, 30_000}
		for i, op := range []string{"loop_add_fusion.1", "gemm_fusion_dot.2", "all-reduce-start", "wrapped_copy"} {
			id++
			lasts := durations[i] + (step*7+i*3+run*11+rank*5)%13*32
			ops := cmp.Or(map[int]int{3: 2}[i], 1)
			add("TSL:Thunk:#name=jit(step)/jit(main),hlo_op="+op+"#", now, lasts, float64(now-20_000), 9000.0,
				"PushPop", 100+rank, 200+rank, ops, 1.0, 0,
				float64(id), float64(module), fmt.Sprintf(":%d:%d", module, id), 0)
			now += lasts + 2000
		}
		add(fmt.Sprintf("TSL:XlaModule:#hlo_module=jit_step,program_id=%d#", 7+run), start, now-2000-start,
			float64(start-30_000), float64(now-start), "PushPop", 100+rank, 200+rank, 5, 0.0, 3, float64(module), nil,
			fmt.Sprintf(":%d", module), 0)
		now, id = now+20_000, id+1
	}
	return out
}

// Devices, System and Threads are the tables beside that of projected ranges, for a process of one GPU.
var (
	Devices = []Column{{"('TARGET_INFO_GPU', 'name')", []any{"NVIDIA H200"}},
		{"('TARGET_INFO_GPU', 'uuid')", []any{"bed76a5c"}}, {"cuDevice", []any{0}}}
	System = []Column{{"name", []any{"Hostname", "NvDriverVersion", "CudaDriverVersion"}},
		{"value", []any{"secret", "570.86.10", "12080"}}, {"nameEnum", []any{619, 205, 611}}}
)

// Threads names the threads of a rank.
func Threads(rank int) []Column {
	return []Column{{"Name", []any{"python", nil, fmt.Sprintf("XlaLauncher:#global=%d,local=%d,process=%d,slice=0#",
		rank, rank, rank)}},
		{"Priority", []any{20, 20, 0}}, {"PID", []any{100 + rank, 7, 100 + rank}},
		{"TID", []any{200 + rank, 7, 300 + rank}}}
}

// Jax is the archive of a run of so many ranks without reports: nsys-jax wrote it for one, nsys-jax-combine for more.
func Jax(run, ranks int, slower float64) ([]byte, error) {
	files := map[string][]byte{"install.sh": []byte("#!/bin/bash\n")}
	for rank := range ranks {
		below := ""
		if ranks > 1 {
			below = fmt.Sprintf("/rank%d", rank)
		}
		for name, columns := range map[string][]Column{"nvtx_gpu_proj_trace/trace.parquet" +
			below: Projected(run, rank, slower),
			"thread-metadata.parquet" + below: Threads(rank), "device-metadata.parquet" + below: Devices,
			"system-metadata.parquet": System} {
			data, err := Parquet(columns, false)
			if err != nil {
				return nil, err
			}
			files[name] = data
		}
	}
	return Archive(files)
}
