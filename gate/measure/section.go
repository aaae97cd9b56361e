package measure

// The sections into which a run is divided. Their elapsed times add up to that of the run, and so do their GPU times and launches.
var (
	Before  = Subject{Scope: ScopeSection, Name: "before"}
	Warmup  = Subject{Scope: ScopeSection, Name: "warm-up"}
	Steps   = Subject{Scope: ScopeSection, Name: "steps"}
	Between = Subject{Scope: ScopeSection, Name: "between"}
	After   = Subject{Scope: ScopeSection, Name: "after"}
	// Beside is the work of short processes of the same launch beside the run; it is not part of the run.
	Beside = Subject{Scope: ScopeSection, Name: "beside"}
)

// Sections lists the sections of a run in their order.
var Sections = []Subject{Before, Warmup, Steps, Between, After}
