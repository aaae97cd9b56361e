package nsysjax

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
)

type columns = []exporttest.Column

// tables packs an archive of these tables.
func tables(t testing.TB, of map[string]any) string {
	t.Helper()
	files := map[string][]byte{}
	for name, content := range of {
		switch content := content.(type) {
		case []byte:
			files[name] = content
		case columns:
			files[name] = table1(t, content, false)
		}
	}
	data, err := exporttest.Archive(files)
	if err != nil {
		t.Fatal(err)
	}
	return save(t, "x.zip", data)
}

func table1(t testing.TB, of columns, plain bool, options ...parquet.WriterOption) []byte {
	t.Helper()
	data, err := exporttest.Parquet(of, plain, options...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// describe is the content of a trace, a line each.
func describe(x model.Trace) (out []string) {
	out = append(out, fmt.Sprintf("%s %q rank %d process %d: %s ×%d %s %s %s tick %v", x.Source, x.Job, x.Rank,
		x.Process, x.GPU, x.GPUs, x.Driver, x.CUDA, x.Tool, x.Tick))
	for _, r := range x.Ranges {
		out = append(out, fmt.Sprintf("%d…%d %s in %d", r.Start, r.End, x.RangeNames[r.Name], r.Parent))
	}
	for _, l := range x.Launches {
		out = append(out, fmt.Sprintf("%d %d…%d %s on %d in %d", l.API, l.Start, l.End,
			x.Kernels[l.Kernel].Subject.Name, l.Device, l.Range))
	}
	return append(out, x.Warnings...)
}

// newer is the table of nsys since 2024.5: without times on the host, with the work of a thunk in a thunk.
func newer(domain, prefix string) columns {
	out := columns{
		{Name: "Text", Cells: []any{prefix + "XlaModule:#prefix=a,b,hlo_module=jit_f,program_id=3#",
			prefix + "Thunk:#hlo_op=while.1#", prefix + "Thunk:#name=x/y,hlo_op=fusion.2#",
			prefix + "Thunk:#hlo_op=all-reduce-start#", "ncclGroupEnd", prefix + "XlaModule:#hlo_module=gemm.5#",
			prefix + "Thunk:#hlo_op=gemm#", prefix + "Thunk:#hlo_op=copy.1#"}},
		{Name: "Start", Cells: []any{100, 100, 100, 300, 300, 500, 500, 700}},
		{Name: "End", Cells: []any{400, 250, 200, 400, 400, 600, 600, 732}},
		{Name: "Children Count", Cells: []any{2, 1, 0, 1, 0, 1, 0, 0}},
		{Name: "Range ID", Cells: []any{0, 1, 2, 3, 4, 5, 6, 7}},
		{Name: "Parent ID", Cells: []any{nil, 0, 1, 0, 3, nil, 5, nil}},
		{Name: "PID", Cells: slices.Repeat([]any{9}, 8)},
		{Name: "TID", Cells: []any{11, 11, 11, 12, 12, 10, 10, 12}},
		{Name: "Stack Level", Cells: slices.Repeat([]any{0}, 8)},
	}
	if domain != "" {
		out = append(out, exporttest.Column{Name: "Domain", Cells: slices.Repeat([]any{domain}, 8)})
	}
	return out
}

func with(of columns, name string, row int, cell any) columns {
	of = slices.Clone(of)
	for i := range of {
		if of[i].Name == name {
			of[i].Cells = slices.Clone(of[i].Cells)
			of[i].Cells[row] = cell
		}
	}
	return of
}

func without(of columns, name string) columns {
	return slices.DeleteFunc(slices.Clone(of), func(c exporttest.Column) bool { return c.Name == name })
}

var twoGPUs = columns{{Name: "('TARGET_INFO_GPU', 'name')", Cells: []any{"NVIDIA H200", "NVIDIA H200"}}}

const trace = projected

func TestTables(t *testing.T) {
	launchers := columns{{Name: "Name", Cells: []any{"XlaLauncher:#global=4,local=0,process=2,partition=0#",
		"XlaLauncher:#global=5,local=1,process=2,partition=0#"}}, {Name: "PID", Cells: []any{9, 9}},
		{Name: "TID", Cells: []any{11, 12}}}
	works := func(domain string) []string {
		return []string{`x.zip "" rank 0 process 9: NVIDIA H200 ×2   nsys-jax tick 32`,
			"100…400 " + domain + "XlaModule:#prefix=a,b,hlo_module=jit_f# in -1",
			"100…250 " + domain + "Thunk:#hlo_op=while.1# in 0", "300…400 ncclGroupEnd in 0",
			"500…600 " + domain + "XlaModule:#hlo_module=gemm.5# in -1", "100 100…200 jit_f::fusion.2 on 0 in 1",
			"300 300…400 jit_f::all-reduce-start on 1 in 0", "700 700…732 copy.1 on 1 in -1",
			"1 thunks are left out: XLA ran them while it compiled, to choose among kernels"}
	}
	domained := works("TSL:")
	domained[3] = "300…400 TSL:ncclGroupEnd in 0"
	for _, c := range []struct {
		what string
		of   map[string]any
		want []string
	}{
		{"nsys 2024.5", map[string]any{trace: newer("", ""), "thread-metadata.parquet": launchers,
			"device-metadata.parquet": twoGPUs}, works("")},
		{"nsys 2026.1, in a directory", map[string]any{"out/" + trace: newer("TSL", ""),
			"out/thread-metadata.parquet": launchers, "out/device-metadata.parquet": twoGPUs}, domained},
		{"plain, not packed, several row groups", map[string]any{trace: table1(t, newer("", ""), true,
			parquet.Compression(&parquet.Uncompressed), parquet.MaxRowsPerRowGroup(3)),
			"thread-metadata.parquet": launchers, "device-metadata.parquet": twoGPUs}, works("")},
		{"nothing beside", map[string]any{trace: newer("", "")},
			[]string{`x.zip "" rank 0 process 9:  ×1   nsys-jax tick 32`}},
	} {
		traces, err := Tables(t.Context(), tables(t, c.of))
		if err != nil || len(traces) != 1 {
			t.Errorf("%s: %d traces, %v", c.what, len(traces), err)
			continue
		}
		if got := describe(traces[0]); !slices.Equal(got[:len(c.want)], c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Until nsys 2024.4 the table has host times and counts of operations, and a row of operations outside of all ranges.
func TestOlderTables(t *testing.T) {
	for ranks := 1; ranks <= 2; ranks++ {
		data, err := exporttest.Jax(3, ranks, 1)
		if err != nil {
			t.Fatal(err)
		}
		traces, err := Tables(t.Context(), save(t, "x.zip", data))
		if err != nil || len(traces) != ranks {
			t.Fatalf("%d traces, %v", len(traces), err)
		}
		for rank, x := range traces {
			got := describe(x)
			job := []string{"", "x.zip"}[ranks-1]
			if want := fmt.Sprintf(`x.zip %q rank %d process %d: NVIDIA H200 ×1 570.86.10 12.8 nsys-jax tick 32`, job,
				rank, 100+rank); got[0] != want {
				t.Errorf("%s, want %s", got[0], want)
			}
			if len(x.Launches) != 160 || len(x.Ranges) != 40 ||
				x.RangeNames[0] != "TSL:XlaModule:#hlo_module=jit_step#" || len(x.Kernels) != 4 {
				t.Errorf("%d launches of %d kernels, %d ranges %q", len(x.Launches), len(x.Kernels), len(x.Ranges),
					x.RangeNames)
			}
			if l := x.Launches[0]; l.Start != 1_003_000 || l.API != 983_000 ||
				l.End != 1_103_000+int64((33+rank*5)%13*32) || x.Ranges[0].Start != 973_000 {
				t.Errorf("%+v in %+v", l, x.Ranges[0])
			}
			if w := "40 of 160 thunks are several operations on the GPU"; !strings.HasPrefix(x.Warnings[0], w) {
				t.Errorf("warnings %q", x.Warnings)
			}
		}
	}
}

func TestBadTables(t *testing.T) {
	good := newer("", "")
	whole := table1(t, good, false)
	size := int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	footer := func(of []byte) []byte {
		return binary.LittleEndian.AppendUint32(slices.Concat([]byte("PAR1"), of), uint32(len(of)))
	}
	// A footer whose version is 1 and which then has what is given.
	bad := func(rest ...byte) []byte { return append(footer(append([]byte{0x15, 0x02}, rest...)), "PAR1"...) }
	for _, c := range []struct {
		what string
		of   any
		want string
	}{
		{"a column is missing", without(good, "End"),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip has no column End or Projected Duration: its 8 rows have " +
				"Children Count, PID, Parent ID, Range ID, Stack Level, "},
		{"older, a column is missing", without(exporttest.Projected(0, 0, 1), "Projected Duration"),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip has no column End or Projected Duration: its 201 rows have "},
		{"a time is missing", with(good, "Start", 3, nil),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: row 4 has no Start or Projected Start; copy the archive " +
				"again"},
		{"a time is no number", with(exporttest.Projected(0, 0, 1), "RangeId", 3, math.Inf(1)), ""},
		{"a text is missing", with(good, "Text", 0, nil),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: row 1 has no Text or Name"},
		{"ends before it starts", with(good, "End", 2, 50),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: row 3 of range 2 cannot be from 100 to 50 ns"},
		{"one number twice", with(good, "Range ID", 2, 1),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: two ranges have the number 1"},
		{"far in the future", with(good, "End", 2, math.MaxInt64),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: row 3 of range 2 cannot be from 100 to " +
				"9223372036854775807 ns"},
		{"text for numbers", columns{{Name: "Text", Cells: []any{"x"}}, {Name: "Start", Cells: []any{"1"}},
			{Name: "End", Cells: []any{2}}, {Name: "PID", Cells: []any{1}}, {Name: "TID", Cells: []any{1}},
			{Name: "Range ID", Cells: []any{1}}, {Name: "Parent ID", Cells: []any{nil}}},
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: column Start: its type is BYTE_ARRAY"},
		{"no thunk", with(with(with(with(with(good, "Text", 1, "a"), "Text", 2, "b"), "Text", 3, "c"), "Text", 6, "d"),
			"Text", 7, "e"),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip has no thunk of XLA with work on the GPU; record a program " +
				"of JAX"},
		{"packed otherwise", table1(t, good, false, parquet.Compression(&parquet.Gzip)),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: column Text: after row 0: packed with GZIP, which is " +
				"not read"},
		{"pages of version 2", table1(t, good, true, parquet.DataPageVersion(2)),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: column Text: after row 0: pages of type DATA_PAGE_V2 are " +
				"not read"},
		{"no table", []byte("PAR1"),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: it is no parquet file, or ends early"},
		{"cut off", whole[:len(whole)-9],
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: it is no parquet file, or ends early"},
		{"the footer is larger than the file", append(binary.LittleEndian.AppendUint32([]byte("PAR1"), 1<<31),
			"PAR1"...), "nvtx_gpu_proj_trace/trace.parquet in x.zip: its footer has 2147483648 bytes"},
		{"another footer", slices.Concat(whole[:len(whole)-8-size], bytes.Repeat([]byte{0x77}, size),
			whole[len(whole)-8:]), "nvtx_gpu_proj_trace/trace.parquet in x.zip: its footer is damaged"},
		{"many rows in the footer", claim(whole, 1<<40),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: it claims more than 2097152 rows"},
		{"fewer than no rows", claim(whole, -8),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: it claims more than 2097152 rows"},
		{"more rows than there are", claim(whole, 1<<20),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: column Text: after row 8: "},
		{"fewer rows than there are", claim(whole, 4),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: column Text: after row 0: a page has more rows than the " +
				"table"},
		{"a list without end", bad(0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: its footer is damaged"},
		{"structures in structures", bad(bytes.Repeat([]byte{0xfc}, mostFooter-100)...),
			"nvtx_gpu_proj_trace/trace.parquet in x.zip: its footer is damaged"},
	} {
		t.Run(c.what, func(t *testing.T) {
			var before, after runtime.MemStats
			archive := tables(t, map[string]any{trace: c.of})
			runtime.ReadMemStats(&before)
			traces, err := Tables(t.Context(), archive)
			runtime.ReadMemStats(&after)
			if c.want == "" && err == nil {
				return
			}
			if !errors.As(err, new(*model.Refusal)) || traces != nil || c.want == "" ||
				!strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%d traces, error %v,\nwant %s", len(traces), err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d MB were allocated", used>>20)
			}
		})
	}
	if _, err := Tables(t.Context(), tables(t, map[string]any{trace: good,
		"device-metadata.parquet": twoGPUs})); err == nil || !strings.HasPrefix(err.Error(),
		"x.zip does not say which of 2 GPUs a thunk ran on: thread-metadata.parquet has no thread XlaLauncher") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tables(ctx, tables(t, map[string]any{trace: good})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// claim writes another number of rows into the footer of a table.
func claim(data []byte, rows int64) []byte {
	t, err := openTable(data)
	if err != nil {
		panic(err)
	}
	t.meta.RowGroups[0].NumRows = rows
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), t.meta)
	if err != nil {
		panic(err)
	}
	return append(binary.LittleEndian.AppendUint32(slices.Concat(t.data, footer), uint32(len(footer))), "PAR1"...)
}

// A damaged byte gives a refusal or other cells, no more.
func TestDamagedTables(t *testing.T) {
	data := table1(t, newer("", ""), false)
	for i := 0; i < len(data); i += 3 {
		damaged := slices.Clone(data)
		damaged[i] ^= 0xff
		readTable(t, damaged)
	}
}

// readTable reads a trace from the bytes of a table of projected ranges.
func readTable(t *testing.T, data []byte) {
	archive := filepath.Join(t.TempDir(), "x.zip")
	packed, err := exporttest.Archive(map[string][]byte{trace: data})
	if err == nil {
		err = os.WriteFile(archive, packed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	traces, err := Tables(context.Background(), archive)
	if err != nil && !errors.As(err, new(*model.Refusal)) || err == nil && len(traces) == 0 {
		t.Fatalf("%d traces, no refusal: %v", len(traces), err)
	}
	for _, x := range traces {
		for i, r := range x.Ranges {
			if r.End < r.Start || int(r.Parent) >= i || r.Parent < -1 || int(r.Name) >= len(x.RangeNames) || i > 0 &&
				r.Start < x.Ranges[i-1].Start {
				t.Fatalf("range %d: %+v", i, r)
			}
		}
		for i, l := range x.Launches {
			if l.Start < l.API || l.API < 0 || l.End < l.Start || int(l.Kernel) >= len(x.Kernels) ||
				int(l.Range) >= len(x.Ranges) || i > 0 && l.Start < x.Launches[i-1].Start {
				t.Fatalf("launch %d: %+v", i, l)
			}
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add(table1(f, newer("", ""), false))
	f.Add(table1(f, newer("TSL", ""), true, parquet.Compression(&parquet.Uncompressed), parquet.MaxRowsPerRowGroup(3)))
	f.Add(table1(f, exporttest.Projected(0, 0, 1), false))
	f.Add(table1(f, with(newer("", ""), "Parent ID", 0, 2), true))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) { readTable(t, data) })
}

func TestHybrid(t *testing.T) {
	for _, c := range []struct {
		data    []byte
		bits, n int
		want    []uint32
	}{
		{[]byte{3, 0b10_001_000, 0b1_100_011_0, 0b111_110_10}, 3, 8, []uint32{0, 1, 2, 3, 4, 5, 6, 7}},
		{[]byte{10, 7, 4, 9}, 8, 7, []uint32{7, 7, 7, 7, 7, 9, 9}},
		{[]byte{6, 0x34, 0x12}, 13, 2, []uint32{0x1234, 0x1234}},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, 1, 1, nil},
		{[]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, 1, 3, []uint32{1, 1, 1}},
		{[]byte{6}, 0, 3, []uint32{0, 0, 0}},
		{[]byte{6}, 1, 3, nil}, {[]byte{3, 1}, 3, 8, nil}, {[]byte{0, 0, 0}, 1, 1, nil}, {[]byte{6, 1}, 33, 3, nil},
		{nil, 1, 1, nil}, {nil, 1, 0, []uint32{}},
	} {
		if got, err := hybrid(c.data, c.bits, c.n); (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%x of %d bits: %v, %v, want %v", c.data, c.bits, got, err, c.want)
		}
	}
}
