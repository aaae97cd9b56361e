package why

import "github.com/nsgate/nsgate/gate/internal/result"

// The titles and the addresses were looked up in copies of the published pages: the Profiling Guide of Nsight Compute 2026.1
// and the Best Practices Guide of CUDA 12.4. The numbers of sections change from release to release, titles and
// fragments have not.

// profiling is a section of Nsight Compute's Profiling Guide, called Kernel Profiling Guide until 2024.
func profiling(title, fragment string) result.Guide {
	return result.Guide{Title: "Nsight Compute Profiling Guide, " + title, Link: "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#" + fragment}
}

// practices is a section of the CUDA C++ Best Practices Guide.
func practices(title, fragment string) result.Guide {
	return result.Guide{Title: "CUDA C++ Best Practices Guide, " + title, Link: "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#" + fragment}
}

// sectionsAndRules is the page that says what a section of a report shows.
func sectionsAndRules(section string) result.Guide {
	return profiling("Metric Collection, Sections and Rules: "+section, "sections-and-rules")
}

var (
	hardwareModel = profiling("Metrics Guide, Hardware Model", "hardware-model") // waves
	stallReasons  = profiling("Metrics Reference, Warp Stall Reasons", "warp-stall-reasons")
	clockControl  = profiling("Reproducibility, Clock Control", "clock-control")
	l1Table       = profiling("Memory Tables, L1/TEX Cache", "l1-tex-cache")
	l2Table       = profiling("Memory Tables, L2 Cache", "l2-cache")
	deviceTable   = profiling("Memory Tables, Device Memory", "device-memory")

	coalesced     = practices("Device Memory Spaces, Coalesced Access to Global Memory", "coalesced-access-to-global-memory")
	memoryBanks   = practices("Device Memory Spaces, Shared Memory and Memory Banks", "shared-memory-and-memory-banks")
	localMemory   = practices("Device Memory Spaces, Local Memory", "local-memory")
	pressure      = practices("Device Memory Spaces, Register Pressure", "register-pressure")
	calculating   = practices("Execution Configuration Optimizations, Calculating Occupancy", "calculating-occupancy")
	sharedEffects = practices("Execution Configuration Optimizations, Effects of Shared Memory", "effects-of-shared-memory")
	arithmetic    = practices("Instruction Optimization, Arithmetic Instructions", "arithmetic-instructions")
	branching     = practices("Control Flow, Branching and Divergence", "branching-and-divergence")
)
