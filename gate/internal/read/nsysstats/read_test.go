package nsysstats

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// outcome is what is read of one run: a trace, or a summary.
type outcome struct {
	Trace   *model.Trace
	Summary *model.Session
}

func readAny(ctx context.Context, files ...File) (o outcome, err error) {
	o.Trace, o.Summary, err = Read(ctx, files...)
	return o, err
}

// read reads texts as the files of one run.
func read(t testing.TB, texts ...string) (outcome, error) {
	t.Helper()
	var files []File
	for i, text := range texts {
		files = append(files, File{fmt.Sprintf("%c.csv", 'a'+i), strings.NewReader(text)})
	}
	run, err := readAny(t.Context(), files...)
	if (run.Trace == nil) == (run.Summary == nil) && err == nil {
		t.Fatalf("trace %v, summary %v", run.Trace, run.Summary)
	}
	return run, err
}

// open reads files of testdata as one run.
func open(t testing.TB, names ...string) outcome {
	t.Helper()
	var files []File
	for _, name := range names {
		f, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, File{name, f})
	}
	run, err := readAny(t.Context(), files...)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// told is a run in a few lines: what a table of tests compares.
func told(run outcome) string {
	var lines []string
	if s := run.Summary; s != nil {
		for _, x := range s.Series {
			name := x.Subject.Name
			if g := x.Subject.Geometry(); g != "" {
				name += " " + g
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %v", x.Subject.Scope, name, x.Metric.Name, x.Values[0]))
		}
		return strings.Join(append(lines, fmt.Sprintf("tick %v", s.Tick)), "\n")
	}
	x := run.Trace
	for _, l := range x.Launches {
		k := x.Kernels[l.Kernel]
		lines = append(lines, fmt.Sprintf("%d-%d %s %s regs %d shared %d+%d device %d stream %d", l.Start, l.End,
			k.Subject.Name, k.Subject.Geometry(), k.Registers, k.StaticShared, k.DynamicShared, l.Device, l.Stream))
	}
	for _, c := range x.Copies {
		lines = append(lines, fmt.Sprintf("%d-%d %s %d B %s to %s", c.Start, c.End, c.Kind, c.Bytes, c.Source,
			c.Target))
	}
	return strings.Join(append(lines, fmt.Sprintf("%q %d tick %v", x.GPU, x.GPUs, x.Tick)), "\n")
}

const (
	head2021 = "Start(sec),Duration(nsec),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem,DymSMem,Bytes,Thru(MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n"
	head2022 = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem " +
		"(MB),Bytes (MB),Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n"
	head2025 = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem " +
		"(MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
	row2025 = "1000,500,7,4,1,1,256,1,1,40,0.008,0.000,,,,,NVIDIA H200 (0),1,,7,\"void k(int, float)\"\n"
	headSum = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
	rowSum  = "100.0,1500,3,500.0,500.0,400,600,100.0,k\n"
)

// Each generation of each table, with one row of every sort.
func TestGenerations(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"gputrace of 2021": {head2021 + "0.270410,2208,0,,,,,,,,,,4096,1855.072,,,Tesla V100-SXM2-16GB (0),0,0,[CUDA " +
			"Unified Memory memcpy DtoH]\n0.271100,172767,18,1,512,1,64,1,1,44,1032,16,,,,,Tesla V100-SXM2-16GB " +
			"(0),1,14,matmul_dispatch_0\n0.271500,100,19,,,,,,,,,,64,640.000,Device,,Tesla V100-SXM2-16GB " +
			"(0),1,14,[CUDA memset]\n",
			`271100000-271272767 matmul_dispatch_0 1x512x1/64x1x1 regs 44 shared 1032+16 device 0 stream 14
270410000-270412208 unified memcpy DtoH 4096 B unknown to unknown
271500000-271500100 memset 64 B unknown to device
"Tesla V100-SXM2-16GB" 1 tick 32`},
		"gputrace of 2022": {head2022 +
			"5,10,1,,,,,,,,,,8.389,49341.790,Pinned,Device,NVIDIA A100 (1),1,7,[CUDA memcpy HtoD]\n" +
			"100,20,2,64,1,1,256,1,1,32,0.016,0.001,,,,,NVIDIA A100 (1),1,7,\"f(int, int)\"\n",
			`100-120 f(int, int) 64x1x1/256x1x1 regs 32 shared 16000+1000 device 1 stream 7
5-15 memcpy HtoD 8389000 B pinned to device
"NVIDIA A100" 1 tick 32`},
		"gputrace of 2022 that writes None": {head2022 +
			"5,10,1,None,None,None,None,None,None,None,None,None,8.389,49341.790,Pinned,Device,NVIDIA A100 " +
			"(1),1,7,[CUDA memcpy HtoD]\n" +
			"100,20,2,64,1,1,256,1,1,32,0.016,0.001,None,,None,None,NVIDIA A100 (1),1,7,\"f(int, int)\"\n",
			`100-120 f(int, int) 64x1x1/256x1x1 regs 32 shared 16000+1000 device 1 stream 7
5-15 memcpy HtoD 8389000 B pinned to device
"NVIDIA A100" 1 tick 32`},
		"cuda_gpu_trace of 2025": {head2025 + row2025 + "2000,1024,8,,,,,,,,,,0.004,3999.998,Pageable,Device,NVIDIA " +
			"H200 (0),1,,7,[CUDA memcpy Host-to-Device]\n4000,2335,0,,,,,,,,,,0.004,1754.173,Unknown,Unknown,NVIDIA " +
			"H200 (0),,,,[CUDA memcpy Unified Host-to-Device]\n7000,100,9,,,,,,,,,,0.001,10000.000,Device,Device " +
			"Static,NVIDIA H200 (0),1,,7,[CUDA memcpy Device-to-Device]\n",
			`1000-1500 void k(int, float) 4x1x1/256x1x1 regs 40 shared 8000+0 device 0 stream 7
2000-3024 memcpy HtoD 4000 B pageable to device
4000-6335 unified memcpy HtoD 4000 B unknown to unknown
7000-7100 memcpy DtoD 1000 B device to device-static
"NVIDIA H200" 1 tick 32`},
		"in ms, two devices, one of them not named": {
			strings.NewReplacer("(ns)", "(ms)").Replace(head2025) +
				"457.0118,0.0046,125,4096,1,1,256,1,1,16,0.002,0.001,,,,,NVIDIA H100 80GB HBM3 (0),1,,7,k\n" +
				"457.0919,0.0013,126,4096,1,1,256,1,1,16,0.002,0.001,,,,, (1),1,,7,k\n",
			`457011800-457016400 k 4096x1x1/256x1x1 regs 16 shared 2000+1000 device 0 stream 7
457091900-457093200 k 4096x1x1/256x1x1 regs 16 shared 2000+1000 device 1 stream 7
"NVIDIA H100 80GB HBM3" 2 tick 100`},
		"a trace without most columns, in another order": {
			"Name,Start (us),CorrId,Duration (us)\n\"k(int, int)\",1.5,7,0.500\n",
			`1500-2000 k(int, int)  regs -1 shared -1+-1 device -1 stream -1
"" 1 tick 32`},
		"UTC timestamps": {head2025 + strings.Replace(row2025, "1000,500", "1795202612000000001,7", 1),
			`1795202612000000001-1795202612000000008 void k(int, float) 4x1x1/256x1x1 regs 40 shared 8000+0 device 0 stream 7
"NVIDIA H200" 1 tick 32`},
		"gpukernsum of 2021": {"Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n" +
			"66.7,2000,2,1000.0,900,1100,\"f(int, int)\"\n33.3,1000,10,100.0,90,110,g\n",
			`workload  gpu_time 3000
workload  launches 12
kernel f(int, int) launches 2
kernel f(int, int) time 1000
kernel f(int, int) total 2000
kernel g launches 10
kernel g time 100
kernel g total 1000
tick 32`},
		"gpukernsum with StdDev": {"Time(%),Total Time " +
			"(ns),Instances,Average,Minimum,Maximum,StdDev,Name\n100.0,1000,10,100.0,90,110,5.5,g\n",
			"workload  gpu_time 1000\nworkload  launches 10\nkernel g launches 10\nkernel g time 100\nkernel g " +
				"total 1000\ntick 32"},
		"without blanks before the units": {"Time(%),Total " +
			"Time(ns),Instances,Average(ns),Minimum(ns),Maximum(ns),Name\n100,1000,10,100,90,110,g\n",
			"workload  gpu_time 1000\nworkload  launches 10\nkernel g launches 10\nkernel g time 100\nkernel g " +
				"total 1000\ntick 32"},
		"cuda_gpu_kern_sum in ms": {strings.ReplaceAll(headSum, "(ns)", "(ms)") +
			"100.0,0.6729,19,0.0354,0.0011,0.0010,0.2976,0.0754,k\n",
			"workload  gpu_time 672900\nworkload  launches 19\nkernel k launches 19\nkernel k time " +
				"35415.789\nkernel k total 672900\ntick 100"},
		"builds of one kernel count as one": {headSum +
			"75.0,1500,3,500.0,500.0,400,600,100.0,void <unnamed>::k(int)\n" +
			"25.0,500,2,250.0,250.0,240,260,10.0,void _GLOBAL__N__d8ceb000_21_reduce_cu_1a2b3c4d::k(int)\n",
			`workload  gpu_time 2000
workload  launches 5
kernel void (anonymous namespace)::k(int) launches 5
kernel void (anonymous namespace)::k(int) time 400
kernel void (anonymous namespace)::k(int) total 2000
tick 32`},
		"with copies, by time and size, of 2021": {headSum + rowSum + "\n" +
			"Time(%),Total Time (ns),Operations,Average,Minimum,Maximum,Operation\n90.0,900,3,300.0,100,500,[CUDA " +
			"memcpy HtoD]\n10.0,100,1,100.0,100,100,[CUDA memset]\n\n" +
			"Total,Operations,Average,Minimum,Maximum,Operation\n12.000,3,4.000,4.000,4.000,[CUDA memcpy " +
			"HtoD]\n0.063,1,0.063,0.063,0.063,[CUDA memset]\n",
			`workload  gpu_time 1500
workload  launches 3
workload memcpy HtoD copies 3
workload memcpy HtoD copy_bytes 12288
workload memcpy HtoD copy_time 900
workload memset copies 1
workload memset copy_bytes 64.512
workload memset copy_time 100
kernel k launches 3
kernel k time 500
kernel k total 1500
tick 32`},
		"with copies of today, some too small for their size to be known": {headSum + rowSum + "Time (%),Total Time " +
			"(ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
			"(ns),Operation\n90.0,900,3,300.0,300.0,100,500,1.0,[CUDA memcpy " +
			"Device-to-Host]\n10.0,100,1,100.0,100.0,100,100,0.0,[CUDA memcpy Peer-to-Peer]\nTotal (MB),Count,Avg " +
			"(MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n25.166,3,8.389,8.389,8.389,8.389,0.000,[CUDA " +
			"memcpy Device-to-Host]\n0.004,1,0.004,0.004,0.004,0.004,0.000,[CUDA memcpy Peer-to-Peer]\n",
			`workload  gpu_time 1500
workload  launches 3
workload memcpy DtoH copies 3
workload memcpy DtoH copy_bytes 2.5166e+07
workload memcpy DtoH copy_time 900
workload memcpy PtoP copies 1
workload memcpy PtoP copy_time 100
kernel k launches 3
kernel k time 500
kernel k total 1500
tick 32`},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := read(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, told(run)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !Sniff([]byte(c.text)) {
				t.Error("is not recognised")
			}
		})
	}
}

// encodings of UTF-16, as PowerShell writes it.
func utf16Text(order binary.ByteOrder, s string) string {
	var b bytes.Buffer
	_ = binary.Write(&b, order, uint16(0xfeff))
	_ = binary.Write(&b, order, utf16.Encode([]rune(s)))
	return b.String()
}

// One table in every odd dress that was seen around it says the same.
func TestDress(t *testing.T) {
	const odd = "\"void f<(int)4, µ>(int, \"\"x\"\")\""
	body := headSum + "50.0,1500,3,500.0,500.0,400,600,100.0,k\n50.0,1500,3,500.0,500.0,400,600,100.0," + odd + "\n"
	plain, err := read(t, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"byte order mark and CRLF": "\uFEFF" + strings.ReplaceAll(body, "\n", "\r\n"),
		"UTF-16, little endian":    utf16Text(binary.LittleEndian, strings.ReplaceAll(body, "\n", "\r\n")),
		"UTF-16, big endian":       utf16Text(binary.BigEndian, body),
		"every line twice ended":   strings.ReplaceAll(body, "\n", "\r\r\n"),
		"blanks in empty lines":    strings.ReplaceAll(body, "\n", "\n \t\n"),
		"a blank line after each":  strings.ReplaceAll(body, "\n", "\n\n"),
		"no end of the last line":  strings.TrimSuffix(body, "\n"),
		"all cells quoted": "\"Time (%)\",\"Total Time (ns)\",\"Instances\",\"Avg (ns)\",\"Med (ns)\",\"Min " +
			"(ns)\",\"Max (ns)\",\"StdDev (ns)\",\"Name\"\n" +
			"\"50.0\",\"1500\",\"3\",\"500.0\",\"500.0\",\"400\",\"600\",\"100.0\",\"k\"\n50.0,1500,3,500.0,500.0,400,600,100.0," + odd + "\n",
		"quotes as nsys leaves them": strings.Replace(body, odd, "\"void f<(int)4, µ>(int, \"x\")\"", 1),
		"an index column of pandas":  strings.NewReplacer("Time (%)", ",Time (%)", "\n50.0", "\n0,50.0").Replace(body),
		"2021 around it": "Using /home/u/x.sqlite for SQL queries.\nRunning " +
			"[/usr/local/cuda-11.4/nsight-systems-2021.2.4/target-linux-x64/reports/gpukernsum.py " +
			"/home/u/x.sqlite]... \n\n" + body + "\nRunning [/usr/local/reports/osrtsum.py x.sqlite]... " +
			"\n\nTime(%),Total Time (ns),Num Calls,Average,Minimum,Maximum,Name\n100.0,5,1,5.0,5,5,read\n\n",
		"2025 around it": "Generating SQLite file x.sqlite from x.nsys-rep\nProcessing [x.sqlite] with " +
			"[/opt/nsight/reports/nvtx_sum.py]... \nSKIPPED: x.sqlite does not contain NV Tools Extension (NVTX) " +
			"data.\n\nProcessing [x.sqlite] with [/opt/nsight/reports/cuda_gpu_kern_sum.py]... \n" + body +
			"\nProcessing [x.sqlite] with [/opt/nsight/reports/cuda_gpu_mem_time_sum.py]... \nSKIPPED: x.sqlite " +
			"does not contain GPU memory data.\n\n",
		"a notice before it": "\nNOTICE: Existing SQLite export found: x.sqlite\n        It is assumed file was " +
			"previously exported from: x.nsys-rep\n        Consider using --force-export=true if needed.\n\n" +
			"Processing [x.sqlite] with [cuda_gpu_kern_sum.py]... \n" + body,
		"the program's output before it": "step 1, loss 0.5, 3\nepoch,loss,accuracy\n1,0.5,0.9\n" + body,
		"glued to a line without an end": "Processing [x.sqlite] with [cuda_gpu_kern_sum.py](start=0) to process " +
			"[@cat]... " + body,
		"titles of --stats around it": "[3/8] Executing 'cuda_gpu_kern_sum' stats report\n\n ** CUDA GPU Kernel " +
			"Summary (cuda_gpu_kern_sum):\n\n" + body + "\nGenerated:\n    /home/u/x.nsys-rep\n",
		"quiet, other reports around it": "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max " +
			"(ns),StdDev (ns),Style,Range\n100.0,9,1,9.0,9.0,9,9,0.0,PushPop,:line\nbreak\n\n" + body +
			"\nVirtual Address,HtoD Migration Size (MB),DtoH Migration Size (MB),CPU Page Faults,GPU Page " +
			"Faults,Migration Throughput (MB/s)\n0x7f,1.0,2.0,3,4,5\n\n" +
			"Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n1,2,cudaMalloc,0,1,5,5,20,x\n\n",
		"no blank line between two tables": body +
			"Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
			"(ns),Name\n100.0,5,1,5.0,5.0,5,5,0.0,cudaFree\n",
		"twice the same table": body + "\n" + body,
		"a report that looks like it": "Processing [x.sqlite] with [openmp_sum.py]... \n" +
			strings.Replace(headSum+rowSum, ",k", ",parallel", 1) +
			"\nProcessing [x.sqlite] with [cuda_gpu_kern_sum.py]... \n" + body,
	} {
		t.Run(name, func(t *testing.T) {
			run, err := read(t, text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(told(plain), told(run)); diff != "" {
				t.Errorf("(-plain +dressed):\n%s", diff)
			}
			if !Sniff([]byte(text)) {
				t.Error("is not recognised")
			}
		})
	}
}

// Tables in columns, as they are printed without --format csv, are read like CSV. Names that are cut off alike stay
// one.
func TestPrintedColumns(t *testing.T) {
	const table = " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n Time (%)  Total Time (ns)  Instances  Avg " +
		"(ns)   Med (ns)   Min (ns)   Max (ns)  StdDev (ns)          Name         \n --------  ---------------  " +
		"---------  ---------  ---------  --------  --------  -----------  --------------------\n     60.0        " +
		"6,000,000          3  2,000,000  2,000,000   400,000   3600000        100.0  void f(int, \"x\")    \n     " +
		"30.0        3,000,000          2  1,500,000  1,500,000   400,000   2600000        100.0  void " +
		"at::native::e...\n     10.0        1,000,000          1  1,000,000  1,000,000   1000000   1000000        " +
		"100.0  void at::native::e...\n\nProcessing [x.sqlite] with [cuda_gpu_mem_time_sum.py]... \n\n Time (%)  " +
		"Total Time (ns)  Count  Avg (ns)  Min (ns)  Max (ns)           Operation          \n --------  " +
		"---------------  -----  --------  --------  --------  ----------------------------\n    100.0            " +
		"1,234      2     617.0       600       634  [CUDA memcpy Host-to-Device]\n\nbye\n"
	run, err := read(t, table)
	if err != nil {
		t.Fatal(err)
	}
	want := `workload  gpu_time 1e+07
workload  launches 6
workload memcpy HtoD copies 2
workload memcpy HtoD copy_time 1234
kernel void at::native::e... launches 3
kernel void at::native::e... total 4e+06
kernel void f(int, "x") launches 3
kernel void f(int, "x") time 2e+06
kernel void f(int, "x") total 6e+06
tick 32`
	if diff := cmp.Diff(want, told(run)); diff != "" || !Sniff([]byte(table)) {
		t.Errorf("(-want +got):\n%s", diff)
	}
	refused(t, "the rows of cuda_gpu_kern_sum add up to 90.0 % of its total", "whole table",
		strings.Replace(table, "     10.0        1,000,000          1  1,000,000  1,000,000   1000000   1000000       "+
			" 100.0  void at::native::e...\n", "", 1))
}

// The tables of 2021 have other titles, no names of reports, and up to three blank lines between them.
func TestPrintedColumnsOf2021(t *testing.T) {
	run, err := read(t, "CUDA Kernel Statistics:\n\n Time(%)  Total Time (ns)  Instances    Average     Minimum    "+
		"Maximum            Name           \n -------  ---------------  ---------  -----------  ---------  ---------  "+
		"-----------------------\n    60.0        6,000,000          3  2,000,000.0  1,469,005  2,518,252  void "+
		"f<A<int>, int>(int)\n    40.0        4,000,000          2  2,000,000.0  1,391,821  2,462,860  g              "+
		"         \n\n\n\nCUDA Memory Operation Statistics (by time):\n\n Time(%)  Total Time (ns)  Operations   "+
		"Average   Minimum  Maximum      Operation     \n -------  ---------------  ----------  ---------  -------  "+
		"-------  ------------------\n   100.0        1,142,000           2  571,000.0  500,000  642,000  [CUDA "+
		"memcpy DtoH]\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `workload  gpu_time 1e+07
workload  launches 5
workload memcpy DtoH copies 2
workload memcpy DtoH copy_time 1.142e+06
kernel g launches 2
kernel g time 2e+06
kernel g total 4e+06
kernel void f<A<int>, int>(int) launches 3
kernel void f<A<int>, int>(int) time 2e+06
kernel void f<A<int>, int>(int) total 6e+06
tick 32`
	if diff := cmp.Diff(want, told(run)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A comma between thousands is believed where a number of the table can be nothing else.
func TestThousands(t *testing.T) {
	const quoted = "100.0,\"482,334\",3,\"160,778.0\",\"160,778.0\",\"160,778\",\"160,778\",0.0,k\n"
	run, err := read(t, headSum+quoted)
	if err != nil {
		t.Fatal(err)
	}
	if got := told(run); !strings.Contains(got, "gpu_time 482334") || !strings.Contains(got, "kernel k time 160778") {
		t.Error(got)
	}
}

// The file that ends in the middle of a row is refused; one whose last row is whole but has no end may be cut.
func TestLastRow(t *testing.T) {
	whole := head2025 + row2025 + row2025
	run, err := read(t, strings.TrimSuffix(whole, "\n"))
	if err != nil || len(run.Trace.Warnings) != 1 || !strings.Contains(run.Trace.Warnings[0],
		"a.csv:1: the last row has no line end") {
		t.Errorf("%v, warnings %q", err, run.Trace.Warnings)
	}
	if run, err = read(t, whole); err != nil || len(run.Trace.Warnings) > 0 {
		t.Errorf("%v, warnings %q", err, run.Trace.Warnings)
	}
	for cut := len(head2025) + len(row2025) + 1; cut < len(whole)-1; cut++ {
		run, err := read(t, whole[:cut])
		if err == nil {
			t.Fatalf("cut at %q: %s", whole[len(head2025)+len(row2025):cut], told(run))
		}
	}
}

// CUDA numbers all calls: those between the numbers of launches and copies are known, and when they were.
func TestSilentCalls(t *testing.T) {
	of := func(start, number string) string {
		return strings.Replace(strings.Replace(row2025, "1000,", start+",", 1), ",500,7,", ",500,"+number+",", 1)
	}
	run, err := read(t, head2025+of("1000", "7")+of("2000", "9")+of("3000", "8")+of("4000", "12")+of("5000",
		"0")+of("6000", ""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]model.Silent{{Time: 4000, Calls: 2}}, run.Trace.Silent); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownOperations(t *testing.T) {
	run, err := read(t, head2025+row2025+"2000,100,8,,,,,,,,,,,,,,NVIDIA H200 (0),1,,7,[CUDA memory decompress]\n"+
		"3000,100,8,,,,,,,,,,0.001,,,,NVIDIA H200 (0),1,,7,[CUDA memcpy Sideways]\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trace.Launches) != 1 || len(run.Trace.Copies) != 1 || run.Trace.Copies[0].Kind != 0 {
		t.Error(told(run))
	}
	if w := run.Trace.Warnings; len(w) != 1 || w[0] != "a.csv:1: 1 row of neither kernels nor copies, not judged" {
		t.Errorf("%q", w)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("no more disk") }

// Errors of the file system and deadlines are no refusals.
func TestErrors(t *testing.T) {
	var refusal *model.Refusal
	_, err := readAny(t.Context(), File{"x.csv", io.MultiReader(strings.NewReader(head2025+row2025), broken{})})
	if err == nil || errors.As(err, &refusal) || !strings.Contains(err.Error(), "x.csv: no more disk") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless := &generated{rows: 1 << 30}
	_, err = readAny(ctx, File{"x.csv", readerFunc(func(p []byte) (int, error) {
		if endless.at > 1000 {
			cancel()
		}
		return endless.Read(p)
	})})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Rows need not be sorted, and the attributes of a kernel are those of most of its launches.
func TestOrder(t *testing.T) {
	row := func(start, registers int) string {
		return fmt.Sprintf("%d,500,7,4,1,1,256,1,1,%d,0.008,0.000,,,,,x (0),1,,7,k\n", start, registers)
	}
	run, err := read(t, head2025+row(3000, 40)+row(1000, 32)+row(2000,
		32)+"500,10,8,,,,,,,,,,0.001,,,,x (0),1,,7,[CUDA memset]\n400,10,8,,,,,,,,,,0.001,,,,x (0),1,,7,[CUDA "+
		"memset]\n")
	if err != nil {
		t.Fatal(err)
	}
	fit(t, run)
	if k := run.Trace.Kernels; len(k) != 1 || k[0].Registers != 32 {
		t.Errorf("%+v", k)
	}
}

// The timer of an older GPU ticks every microsecond.
func TestTick(t *testing.T) {
	trace := head2025
	for i := range 30 {
		trace += strings.Replace(row2025, ",500,", fmt.Sprintf(",%d,", 1000*(5+i*i%97)), 1)
	}
	run, err := read(t, trace)
	if err != nil {
		t.Fatal(err)
	}
	if got := told(run); !strings.HasSuffix(got, "tick 1000") {
		t.Error(got)
	}
}

// A mean over all launches is never compared with a trace, which has the steady ones alone.
func TestSummaryIsAnotherMode(t *testing.T) {
	sums, err := read(t, headSum+rowSum)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := read(t, head2025+row2025)
	if err != nil {
		t.Fatal(err)
	}
	if sums.Summary.Mode == trace.Trace.Mode || sums.Summary.Profiler() != trace.Trace.Profiler() {
		t.Errorf("modes %q and %q", sums.Summary.Mode, trace.Trace.Mode)
	}
	if x, _ := sums.Summary.Find(measure.Subject{Scope: measure.ScopeKernel, Name: "k"},
		"time"); x.Note != "mean over all launches, the first ones included" {
		t.Errorf("%+v", x)
	}
}
