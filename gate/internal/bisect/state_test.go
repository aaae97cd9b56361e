package bisect

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A state that is replaced stays whole for who reads it, and a kill leaves one of both.
func TestStateIsReplaced(t *testing.T) {
	s := state{file: filepath.Join(t.TempDir(), "state.json"), Key: "first", began: time.Now()}
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(s.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s.Key = "second"
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	var kept state
	if text, _ := io.ReadAll(f); json.Unmarshal(text, &kept) != nil || kept.Key != "first" {
		t.Errorf("the state before reads %q", text)
	}
}
