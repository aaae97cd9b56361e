package torch

import (
	"bytes"
	"fmt"
	"io"
)

// generated is a trace of a given number of steps as Kineto writes it, made while it is read. Each step is one
// annotation, operators with their shapes, and launches; only the numbers differ.
type generated struct {
	steps, operators, launches int
	functions                  int    // of Python, with record_shapes off and with_stack on
	tail                       string // written in place of the end, if not ""

	step int
	buf  bytes.Buffer
}

const generatedHead = `
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0
    }
    ],
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [`

const generatedTail = `
  {
    "name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 4369596399379.880
  }
  ],
  "traceName": "trace.json"
}`

func (g *generated) Read(p []byte) (int, error) {
	for g.buf.Len() == 0 {
		switch {
		case g.step > g.steps:
			return 0, io.EOF
		case g.step == g.steps && g.tail != "":
			g.buf.WriteString(g.tail)
		case g.step == g.steps:
			g.buf.WriteString(generatedTail)
		default:
			if g.step == 0 {
				g.buf.WriteString(generatedHead)
			}
			g.writeStep()
		}
		g.step++
	}
	return g.buf.Read(p)
}

func (g *generated) writeStep() {
	const second = 1_000_000_000
	begin := 4_369_596_000*second + int64(g.step)*second/10
	at := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }
	write := func(category, name string, pid, tid, start, ns int64, args string) {
		fmt.Fprintf(&g.buf, `
  {
    "ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d,
    "ts": %s, "dur": %s,
    "args": {
      %s
    }
  },`, category, name, pid, tid, at(start), at(ns), args)
	}
	write("user_annotation", fmt.Sprintf("ProfilerStep#%d", g.step), 100, 100, begin, second/10-1000,
		`"External id": 1`)
	for i := range g.operators {
		write("cpu_op", "aten::_scaled_dot_product_flash_attention", 100, 100, begin+int64(i)*40, 30, fmt.Sprintf(
			`"External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", "False"], "Input type": ["c10::BFloat16", `+
				`"c10::BFloat16", "Scalar"], "Input Dims": [[16, 16, 512, 64], [16, 16, 512, 64], []], "Ev Idx": %d`, i,
			i))
	}
	for i := range g.functions {
		write("python_function", "torch/nn/modules/module.py(1751): _call_impl", 100, 100, begin+int64(i)*40, 30,
			fmt.Sprintf(
				`"Python parent id": %d, "Python id": %d, "Ev Idx": %d`, i, i+1, i))
	}
	for i := range g.launches {
		id := g.step*g.launches + i + 1
		start := begin + int64(i)*2000
		write("cuda_runtime", "cudaLaunchKernel", 100, 100, start, 900,
			fmt.Sprintf(`"External id": 3, "cbid": 211, "correlation": %d`, id))
		fmt.Fprintf(&g.buf, `
  {
    "ph": "s", "id": %d, "pid": 100, "tid": 100, "ts": %s,
    "cat": "ac2g", "name": "ac2g"
  },`, id, at(start))
		write("kernel",
			fmt.Sprintf(`void at::native::vectorized_elementwise_kernel<%d, at::native::CUDAFunctor_add<float>, `+
				`std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)`, i%40),
			0, 7, start+5000, 1600+32*int64(i%5), fmt.Sprintf(`"External id": 7, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": %d,
      "registers per thread": 39,
      "shared memory": 24,
      "blocks per SM": 62.060608,
      "warps per SM": 248.242432,
      "grid": [8192, 1, 1],
      "block": [32, 4, 1],
      "est. achieved occupancy %%": 75`, id))
	}
}
