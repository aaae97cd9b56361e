package profile

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// The files behind one that cannot be read are not begun: a filter that does not end takes its time once.
func TestOpenAllEnds(t *testing.T) {
	var begun atomic.Int32
	wanted := errors.New("no end")
	f := &Format{read: func(context.Context, Tools, []string, *Recording) error { begun.Add(1); return wanted }}
	found := make([]entry, 200)
	for i := range found {
		found[i] = entry{[]string{"a.json"}, f}
	}
	if _, err := (Tools{}).openAll(context.Background(), ".", found, &Recording{}); !errors.Is(err, wanted) {
		t.Error(err)
	}
	if most := int32(2 * cap(reading)); begun.Load() > most { // was: all of them
		t.Errorf("%d files are read, at most %d may be", begun.Load(), most)
	}
}
