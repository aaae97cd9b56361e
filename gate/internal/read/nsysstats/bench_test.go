package nsysstats

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
)

// generated is the output of nsys stats for many launches, made while it is read.
type generated struct {
	rows, at int
	ready    []byte
}

func (g *generated) Read(p []byte) (int, error) {
	if len(g.ready) == 0 {
		switch {
		case g.at == 0:
			g.ready = append(g.ready,
				"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),"+
					"Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"...)
		case g.at > g.rows:
			return 0, io.EOF
		case g.at%20 == 0:
			g.ready = fmt.Appendf(g.ready[:0], "%d,170000,%d,,,,,,,,,,8.389,49341.792,Pinned,Device,NVIDIA H200 "+
				"(0),1,,7,[CUDA memcpy Host-to-Device]\n", g.at*1000, g.at)
		default:
			g.ready = fmt.Appendf(g.ready[:0], "%d,%d,%d,1056,1,1,256,1,1,32,0.008,0.000,,,,,NVIDIA H200 (0),1,,7,"+
				"\"void at::native::kernel<(int)%d, float>(int, const float *, float *)\"\n", g.at*1000,
				100000+g.at%7*32, g.at, g.at%12)
		}
		g.at++
	}
	n := copy(p, g.ready)
	g.ready = g.ready[n:]
	return n, nil
}

// A million rows of cuda_gpu_trace. The memory reported as retained is that of the trace itself.
func BenchmarkRead(b *testing.B) {
	const rows = 1_000_000
	text, err := io.ReadAll(&generated{rows: rows})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		run, err := readAny(b.Context(), File{"x.csv", bytes.NewReader(text)})
		if err != nil {
			b.Fatal(err)
		}
		if n := len(run.Trace.Launches) + len(run.Trace.Copies); n != rows {
			b.Fatalf("%d of %d rows", n, rows)
		}
		b.StopTimer()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc-uint64(len(text)))/1e6, "MB-retained")
		runtime.KeepAlive(run)
		b.StartTimer()
	}
}
