package nsysjax

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// The longest line of a dump of XLA, its most lines, the longest name in it, and the deepest stack that is followed.
const (
	longestHLO = 4 << 20
	mostHLO    = 1 << 20
	longName   = 300
	deepestHLO = 100
)

// hlo is a dump of XLA, as far as it is read.
type hlo struct {
	own               func(file string) string
	table             string
	files, functions  map[string]string            // by id
	locations, frames map[string]map[string]string // fields by id
	places            map[string]model.Operation   // of frames
	computation       string
	votes             map[string]map[model.Operation]int // for the place of a computation, with Kernel and Path empty
	parts             map[string]map[string]bool         // names of what a computation does
	fusions           []fusion
}

type fusion struct {
	model.Operation
	calls string // the computation
}

// Operations are the fusions and sorts in an optimised program as XLA dumps it (*after_optimizations.txt), in its
// order: the name of the kernel, its operation, and its own line, or another that more than twice as many of its parts
// come from. Equal fusions run as the kernel of one of them, so that a fusion is one of its deduplicated name as well.
// own is the name of a file of the repository, "" for another file.
func Operations(text io.Reader, own func(file string) string) ([]model.Operation, error) {
	h := &hlo{own: own, files: map[string]string{}, functions: map[string]string{},
		locations: map[string]map[string]string{}, frames: map[string]map[string]string{},
		votes: map[string]map[model.Operation]int{}, places: map[string]model.Operation{},
		parts: map[string]map[string]bool{}}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, longestHLO)
	for n := 0; lines.Scan(); n++ {
		if n == mostHLO {
			return nil, fmt.Errorf("a program of XLA has more than %d lines", mostHLO)
		}
		h.line(lines.Text())
	}
	out := make([]model.Operation, 0, len(h.fusions))
	for _, f := range h.fusions {
		x, of := f.Operation, h.votes[f.calls]
		most := 2 * of[model.Operation{File: x.File, Line: x.Line, Function: x.Function}]
		places := slices.Collect(maps.Keys(of))
		measure.Sort(places, model.Operation.Compare)
		for _, place := range places {
			if votes := of[place]; votes > most {
				x.File, x.Line, x.Function, most = place.File, place.Line, place.Function, votes
			}
		}
		parts := strings.Join(slices.Sorted(maps.Keys(h.parts[f.calls])), " ")
		x.Parts = parts[:min(len(parts), longName)]
		out = append(out, x)
	}
	return out, lines.Err()
}

var (
	hloRow         = input.Pattern(`^([0-9]{1,9}) (?:"(.*)"|\{(.*)\})$`)
	hloComputation = input.Pattern(`^(?:ENTRY )?%?([^ ]+) \(.*\{$`)
	hloInstruction = input.Pattern(`^ +(?:ROOT )?%?([^ ]+) = `)
	hloFusion      = input.Pattern(` (?:fusion|sort)\(.* (?:calls|to_apply)=%?([^ ,]+)`)
	hloMetadata    = input.Pattern(` metadata=\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}`)
	partName       = input.Pattern(`[a-z0-9_]+$`)
	hloField       = input.Pattern(`([a-z_]+)=(?:"((?:[^"\\]|\\.)*)"|([0-9]+))`)
)

func fieldsOf(text string) map[string]string {
	out := map[string]string{}
	for _, m := range hloField().FindAllStringSubmatch(text, -1) {
		text := m[2] + m[3]
		if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `\'`, "'") + `"`); err == nil {
			text = plain
		}
		out[m[1]] = strings.ToValidUTF8(text[:min(len(text), longName)], "")
	}
	return out
}

func (h *hlo) line(text string) {
	if row := hloRow().FindStringSubmatch(text); row != nil {
		switch h.table {
		case "FileNames":
			h.files[row[1]] = row[2][:min(len(row[2]), 4096)]
		case "FunctionNames":
			h.functions[row[1]] = strings.ToValidUTF8(row[2][:min(len(row[2]), longName)], "")
		case "FileLocations":
			h.locations[row[1]] = fieldsOf(row[3])
		case "StackFrames":
			h.frames[row[1]] = fieldsOf(row[3])
		}
		return
	}
	if m := hloComputation().FindStringSubmatch(text); m != nil {
		h.computation = m[1]
		return
	}
	m := hloInstruction().FindStringSubmatch(text)
	if m == nil {
		h.table = strings.TrimSpace(text)
		return
	}
	meta := hloMetadata().FindStringSubmatch(text)
	if meta == nil {
		return
	}
	fields := fieldsOf(meta[1])
	place, seen := h.places[fields["stack_frame_id"]]
	if !seen {
		place = h.place(fields)
		if frame := fields["stack_frame_id"]; frame != "" {
			h.places[frame] = place
		}
	}
	if f := hloFusion().FindStringSubmatch(text); f != nil {
		place.Path = fields["op_name"]
		kernels := []string{m[1][:min(len(m[1]), longName)], fields["deduplicated_name"]}
		if kernels[1] == "" {
			kernels = kernels[:1]
		}
		for _, kernel := range slices.Compact(kernels) {
			place.Kernel = strings.NewReplacer(".", "_", "-", "_").Replace(kernel)
			h.fusions = append(h.fusions, fusion{place, f[1]})
		}
		return
	}
	if name := partName().FindString(fields["op_name"]); name != "" {
		if h.parts[h.computation] == nil {
			h.parts[h.computation] = map[string]bool{}
		}
		h.parts[h.computation][name] = true
	}
	if place.File != "" {
		if h.votes[h.computation] == nil {
			h.votes[h.computation] = map[model.Operation]int{}
		}
		h.votes[h.computation][place]++
	}
}

// place is the innermost own frame of an instruction. Versions of XLA before the tables name its file and line.
func (h *hlo) place(fields map[string]string) (x model.Operation) {
	if file := fields["source_file"]; file != "" {
		x.File = h.own(file)
		if x.File != "" {
			x.Line, _ = strconv.Atoi(fields["source_line"])
		}
		return x
	}
	first := 0 // the parent of the outermost frame, which is itself: parents are counted from there
	if outer := h.frames["1"]; outer != nil {
		first, _ = strconv.Atoi(outer["parent_frame_id"])
	}
	id, _ := strconv.Atoi(fields["stack_frame_id"])
	for range deepestHLO {
		frame := h.frames[strconv.Itoa(id)]
		at := h.locations[frame["file_location_id"]]
		if file := h.own(h.files[at["file_name_id"]]); file != "" {
			line, _ := strconv.Atoi(at["line"])
			return model.Operation{File: file, Line: line, Function: h.functions[at["function_name_id"]]}
		}
		parent, _ := strconv.Atoi(frame["parent_frame_id"])
		id = parent - first
		if id <= 0 {
			break
		}
	}
	return x
}
