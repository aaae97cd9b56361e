package result

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type span struct{ Low, High Number }

type GPUIdleSince struct {
	span
	MDE    Number
	Runs   int
	Names  []string
	Range  string
	New    bool
	hidden int
}

func (r GPUIdleSince) String() string {
	return "idle in " + r.Range + Given(r.Range, " since ", "start")
}

var _ = Keyed("idle-since", GPUIdleSince{}, "Nothing runs since then.")

// TestSay stores a reason, writes it and reads it back.
func TestSay(t *testing.T) {
	got := Say(GPUIdleSince{span: span{-0.01, 0.02}, MDE: 0.05, Runs: 3, Names: []string{"a", "b"}, Range: "step",
		New: true, hidden: 1})
	want := Remark{Key: "idle-since", Sentence: "idle in step since start",
		Args: Args{"low": Number(-0.01), "high": Number(0.02), "mde": Number(0.05), "runs": Number(3),
			"names": []string{"a", "b"}, "range": "step", "new": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var back Remark
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, back); diff != "" {
		t.Errorf("a file changes the reason:\n%s", diff)
	}
	reason, ok := As[GPUIdleSince](back)
	if again := Say(reason); !ok || !cmp.Equal(got, again) {
		t.Errorf("the reason comes back as %#v, %v", again, ok)
	}
	back.Key = "another"
	if reason, ok := As[GPUIdleSince](back); ok || reason.Range != "" {
		t.Errorf("another reason comes back as %#v", reason)
	}
}
