package model

import (
	"bytes"
	"encoding/gob"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Collectives are the same after they were packed and decoded; what is cut off or added is no longer theirs.
func TestCollectives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Collective {
			n := rapid.Int32Range(-1, 3)
			return Collective{Own: rapid.Int64Range(0, 1<<61).Draw(t, "own"),
				API: rapid.Int64Range(-1<<61, 1<<61).Draw(t, "call"), Kernel: n.Draw(t, "kernel"),
				Step: n.Draw(t, "step"), Channel: n.Draw(t, "channel"), Range: n.Draw(t, "range"),
				Device: n.Draw(t, "device"), Section: int8(n.Draw(t, "section"))}
		}), 1, 9).Draw(t, "collectives")
		packed := PackCollectives(want)
		var data bytes.Buffer
		if err := gob.NewEncoder(&data).Encode(packed); err != nil {
			t.Fatal(err)
		}
		var got Collectives
		if err := gob.NewDecoder(&data).Decode(&got); err != nil {
			t.Fatal(err)
		}
		list, ok := got.Unpack()
		if !ok || !slices.Equal(list, want) || len(got.Times()) != len(want) || got.Times()[0] != want[0].Own {
			t.Fatalf("%v, want %v", list, want)
		}
		for _, x := range []Collectives{{packed.Rest[:len(packed.Rest)-1], packed.Own},
			{packed.Rest, packed.Own[:len(packed.Own)-1]},
			{packed.Rest + "x", packed.Own}, {packed.Rest, append(packed.Own, 0)}, {}} {
			if _, ok := x.Unpack(); ok {
				t.Fatalf("%q is unpacked", x)
			}
		}
	})
}
