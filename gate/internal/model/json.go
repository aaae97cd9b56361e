package model

import (
	"cmp"
	"encoding/json"
	"math"
	"time"
)

// MarshalJSON writes NaN, a run without the subject, as null.
func (v Values) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			out[i] = &v[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (v *Values) UnmarshalJSON(b []byte) error {
	var in []*float64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*v = make(Values, len(in))
	for i, x := range in {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}

// UnmarshalJSON also reads files in which fields had their Go names, as nsgate first wrote them. Where a name differs in
// case only, encoding/json sees to that.
func (e *Environment) UnmarshalJSON(b []byte) error {
	type plain Environment
	v := struct {
		*plain
		OldGPUHash    string `json:"GPUHash"`
		OldGraphTrace string `json:"GraphTrace"`
		OldClockMHz   int    `json:"ClockMHz"`
	}{plain: (*plain)(e)}
	err := json.Unmarshal(b, &v)
	e.GPUHash = cmp.Or(e.GPUHash, v.OldGPUHash)
	e.GraphTrace = cmp.Or(e.GraphTrace, v.OldGraphTrace)
	e.ClockMHz = cmp.Or(e.ClockMHz, v.OldClockMHz)
	return err
}

// UnmarshalJSON reads the fields of the environment and those of the session, which are one object. Without it the
// environment's method would be the session's and read its own fields only.
func (s *Session) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &s.Environment); err != nil {
		return err
	}
	v := struct {
		ID     *string   `json:"id"`
		Step   *string   `json:"step"`
		Warmup *string   `json:"warmup"`
		Runs   *[]Run    `json:"runs"`
		Series *[]Series `json:"series"`
		Commit *string   `json:"commit"`
		Reason *string   `json:"reason"`

		Longest *time.Duration `json:"longest_run_ns"`
	}{&s.ID, &s.Step, &s.Warmup, &s.Runs, &s.Series, &s.Commit, &s.Reason, &s.Longest}
	return json.Unmarshal(b, &v)
}
