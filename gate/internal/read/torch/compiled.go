package torch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// stackTraces names the entry of a log that holds the Python stacks of the operations fused into each kernel.
const stackTraces = "inductor_provenance_tracking_kernel_stack_traces"

// frameOfPython matches a frame of a traceback.
var frameOfPython = input.Pattern(`(?m)^  File "(.*)", line (\d{1,9}), in (.*)$`)

// Compiled are the lines of a repository that torch.compile made its Triton kernels of, one operation a kernel and
// line, in order of the compiled programs. log is PyTorch's structured trace (TORCH_TRACE) of a run with
// INDUCTOR_PROVENANCE=1; own is the name of a file in the repository, "" for a file of another.
func Compiled(log io.Reader, own func(string) string) (all []model.Operation, err error) {
	in, wanted := bufio.NewReader(log), false
	seen := map[model.Operation]bool{}
	for err == nil {
		var line []byte
		line, err = in.ReadBytes('\n') // the last one may lack its end
		payload, belongs := bytes.CutPrefix(line, []byte("\t"))
		if !belongs { // the head of an entry, whose payload follows it
			wanted = bytes.Contains(line, []byte(`"`+stackTraces+`"`))
			continue
		}
		stacks := map[string][]string{} // by kernel and number of its call in the program: "triton_poi_fused_gelu_1:3"
		if !wanted || json.Unmarshal(payload, &stacks) != nil {
			continue
		}
		order := func(name string) int {
			n, _ := strconv.Atoi(name[strings.LastIndex(name, ":")+1:])
			return n
		}
		names := slices.Sorted(maps.Keys(stacks))
		slices.SortStableFunc(names, func(a, b string) int { return order(a) - order(b) })
		for _, name := range names {
			kernel, _, _ := strings.Cut(name, ":")
			for _, stack := range stacks[name] {
				x, known := innermost(stack, own)
				if x.Kernel = kernel; !known || seen[x] || !strings.HasPrefix(kernel, "triton_") {
					continue
				}
				seen[x] = true
				all = append(all, x)
			}
		}
	}
	if err == io.EOF {
		err = nil
	}
	return all[:min(len(all), model.MostOperations)], err
}

// innermost is the innermost frame of a stack in the repository.
func innermost(stack string, own func(string) string) (x model.Operation, known bool) {
	const mostName = 1024 // the most bytes of a name of a file or function
	for _, frame := range frameOfPython().FindAllStringSubmatch(stack, -1) {
		line, _ := strconv.Atoi(frame[2])
		if file := own(frame[1]); file != "" && line > 0 && len(file)+len(frame[3]) <= mostName {
			x, known = model.Operation{File: file, Line: line, Function: frame[3]}, true
		}
	}
	return x, known
}
