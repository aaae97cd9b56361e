package result

// Because sets the reason of the verdict.
func (r *Report) Because(x Remark) {
	r.Reason, r.ReasonKey, r.ReasonArgs, r.Next = x.Sentence, x.Key, x.Args, nil
	if x.Next != "" {
		r.Next = []string{x.Next}
	}
}

// Warn adds doubts about the comparison.
func (r *Report) Warn(doubts ...Remark) {
	r.Doubts, r.Warnings = append(r.Doubts, doubts...), append(r.Warnings, sentences(doubts)...)
}

// Note adds what is said about how the verdict came about.
func (r *Report) Note(remarks ...Remark) {
	r.Remarks, r.Notes = append(r.Remarks, remarks...), append(r.Notes, sentences(remarks)...)
}

// Because sets the reason of the outcome and what qualifies it.
func (f *Finding) Because(x Remark, also ...Remark) {
	f.Reason, f.ReasonKey, f.ReasonArgs, f.Also = x.Sentence, x.Key, x.Args, nil
	f.Qualify(also...)
}

// Qualify adds to the reason of the outcome.
func (f *Finding) Qualify(also ...Remark) {
	f.Also = append(f.Also, also...)
	for _, x := range also {
		f.Reason += "; " + x.Sentence
	}
}

// State adds facts about the change.
func (f *Finding) State(facts ...Remark) {
	f.Facts, f.Evidence = append(f.Facts, facts...), append(f.Evidence, sentences(facts)...)
}

// Warn adds doubts about what was measured.
func (s *Summary) Warn(doubts ...Remark) {
	s.Doubts, s.Warnings = append(s.Doubts, doubts...), append(s.Warnings, sentences(doubts)...)
}

func sentences(remarks []Remark) (out []string) {
	for _, x := range remarks {
		out = append(out, x.Sentence)
	}
	return out
}
