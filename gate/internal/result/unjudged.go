package result

// Unjudged is the part of the head's runs that no limit covers. The shares of its parts add up to it.
type Unjudged struct {
	GPUShare  Number         `json:"gpu_share"`  // of the kernel time of a run, null where that is not known
	WallShare Number         `json:"wall_share"` // of the wall time of a run, likewise
	Parts     []UnjudgedPart `json:"parts,omitempty"`
}

// UnjudgedPart is a section of the run, by its name, or a group of kernels.
type UnjudgedPart struct {
	What      string `json:"what"`
	GPUShare  Number `json:"gpu_share"`
	WallShare Number `json:"wall_share"` // 0 for kernels, whose wall time is that of their section
}
