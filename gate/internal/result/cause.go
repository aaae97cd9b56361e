package result

// Origin is the place in the program of most launches of a kernel, or of most calls of another CUDA function.
type Origin struct {
	// Call is the CUDA function that is called there, "" where the finding's kernel is launched.
	Call string `json:"call,omitempty"`
	// relative to the repository, "" where the place is known by its function alone
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Function string `json:"function"`
	// Operation is the path of the operation that XLA made the kernel of, "" for another kernel.
	Operation string `json:"operation,omitempty"`
	Share     Number `json:"share"` // of the launches, or of the time in the call; of the calls where these are counted
}

// Cause is why a kernel got slower, from its counters in base and head; of a row of a benchmark file
// the kernels of its profiled runs, as a summary and a note.
type Cause struct {
	// Summary is the whole in one to three sentences.
	Summary string `json:"summary"`
	// Reasons are the arguments for it, the likeliest first; none where nothing explains the change.
	Reasons []string `json:"reasons,omitempty"`
	// Guides are the sections of NVIDIA's documentation on the reasons, each once.
	Guides []Guide `json:"guides,omitempty"`
	// Base and Head say what limits the kernel: "memory-bound, 71 % of the fp32 roof". Empty where that is not known.
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
	// Metrics are the medians over the profiled launches; Base is unknown where only the head was profiled.
	Metrics []CauseMetric `json:"metrics,omitempty"`
	// BaseRoof and HeadRoof are the kernel's places under the roofs of its GPU, nil where they are not known.
	BaseRoof *Roof `json:"base_roof,omitempty"`
	HeadRoof *Roof `json:"head_roof,omitempty"`
	// Note says what the cause does not rest on, such as a missing base.
	Note string `json:"note,omitempty"`
}

// Roof is the place of a kernel under the roofs of its main precision.
type Roof struct {
	Precision string `json:"precision"` // "fp64", "fp32", "fp16", "tensor"
	Intensity Number `json:"intensity"` // FLOP a byte of memory traffic
	Ridge     Number `json:"ridge"`     // least intensity with arithmetic as the lower roof
	Achieved  Number `json:"achieved"`  // FLOP/s
	Roof      Number `json:"roof"`      // FLOP/s at this intensity
}

// Documentation begins the address of every page of NVIDIA's documentation.
const Documentation = "https://docs.nvidia.com/"

// Guide is a section of NVIDIA's documentation.
type Guide struct {
	Title string `json:"title"`
	Link  string `json:"link"`
}

// CauseMetric is one counter in base and head.
type CauseMetric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Base Number `json:"base"`
	Head Number `json:"head"`
}
