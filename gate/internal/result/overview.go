package result

// OverviewRow is a number of both sides of a comparison without a verdict; a side without it has none.
type OverviewRow struct {
	Name     string `json:"name"`
	Geometry string `json:"geometry,omitempty"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	Base     Number `json:"base"`
	Head     Number `json:"head"`
}
