package model

import (
	"fmt"
	"regexp"
	"slices"
)

// Reason is a cause for which package decide gives no verdict.
type Reason struct {
	// Key names the cause; it stays the same from release to release.
	Key string
	// Sentence says what is wrong, without a final full stop. Each part in braces stands for a detail.
	Sentence string
	// Next is the way out.
	Next string
}

// Reasons lists all causes for which package decide gives no verdict. Other packages call [Refuse].
type Reasons []Reason

var inBraces = regexp.MustCompile(`\{\w+\}`)

// Fill gives the sentence and then the way out with each detail in its place, which it asks for by name.
func (x Reason) Fill(detail func(name string) string) (sentence, next string) {
	fill := func(text string) string {
		return inBraces.ReplaceAllStringFunc(text, func(s string) string { return detail(s[1 : len(s)-1]) })
	}
	return fill(x.Sentence), fill(x.Next)
}

// Refuse makes the *Refusal of a key, with the details in the order of the sentence and then of the way out. It panics
// where the list has no such key or another number of details.
func (r Reasons) Refuse(key string, details ...any) error {
	i := slices.IndexFunc(r, func(x Reason) bool { return x.Key == key })
	sentence, next := r[i].Fill(func(string) string {
		s := fmt.Sprint(details[0])
		details = details[1:]
		return s
	})
	if len(details) > 0 {
		panic("the refusal " + key + " was given too many details")
	}
	return &Refusal{Kind: Kind(key), Reason: sentence, Next: next}
}
