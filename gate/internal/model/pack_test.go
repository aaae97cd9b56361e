package model

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// A packed trace unpacks to what it was, whatever that is: times that run backwards, numbers at the ends of their types.
func TestPack(t *testing.T) {
	if empty := (&Trace{Source: "a"}); true {
		empty.Pack()
		if got := empty.Unpacked(); empty.Packed == nil || got.Packed != nil || got.Source != "a" || len(got.Launches) != 0 {
			t.Errorf("an empty trace became %+v", got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := Trace{
			Launches: rapid.SliceOf(rapid.Make[Launch]()).Draw(t, "launches"),
			Copies:   rapid.SliceOf(rapid.Make[Copy]()).Draw(t, "copies"),
			Ranges:   rapid.SliceOf(rapid.Make[Range]()).Draw(t, "ranges"),
		}
		packed := want
		packed.Pack()
		got := packed.Unpacked()
		if packed.Launches != nil || got.Packed != nil {
			t.Fatal("not packed")
		}
		for _, pair := range [][2]any{{want.Launches, got.Launches}, {want.Copies, got.Copies}, {want.Ranges, got.Ranges}} {
			if reflect.ValueOf(pair[0]).Len() > 0 && !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("%+v became %+v", pair[0], pair[1])
			}
		}
	})
}
