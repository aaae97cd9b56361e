package profile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
	"github.com/nsgate/nsgate/gate/profile"
)

// A recording of five runs, cut into samples per step.
func Example() {
	r, err := profile.Open(context.Background(), "../../testdata/h200/kernels/base")
	if err != nil {
		log.Fatal(err)
	}
	sides, err := profile.Cut(profile.Rule{Warmup: "auto"}, r)
	if err != nil {
		log.Fatal(err)
	}
	s := sides[0][0]
	fmt.Printf("%d runs on %s, counted by %q\n", len(s.Runs), s.GPU, s.Step)
	x, _ := s.Find(measure.Workload, measure.GPUTime.Name)
	fmt.Println("GPU time of the first run:", measure.Quantity(x.Values[0], x.Metric.Unit))
	// Output:
	// 5 runs on NVIDIA H200, counted by "step"
	// GPU time of the first run: 398.1 µs
}

// What is no recording says which it is, by a stable key.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for key, path := range map[string]string{
		"unknown":            write("notes.csv", "a,b\n1,2\n"),
		"compressed":         write("x.sqlite.gz", "x"),
		"unfinished-capture": write("x.qdstrm", "x"),
		"other-export":       write("x.parquet", "x"),
		"no-profile":         filepath.Dir(write("empty/README", "x")),
		"no-file":            os.DevNull,
	} {
		_, err := profile.Open(context.Background(), path)
		if got := measure.RefusalKey(err); got != key {
			t.Errorf("%s: refused for %q (%v), want %q", path, got, err, key)
		}
	}
	if _, err := profile.Open(context.Background(), filepath.Join(dir, "nowhere")); err == nil || measure.RefusalKey(err) != "" {
		t.Errorf("a path that does not exist: %v", err)
	}
}

// Every format is named for people and by its suffixes.
func TestFormats(t *testing.T) {
	formats := profile.Formats()
	if len(formats) < 8 {
		t.Fatalf("%d formats", len(formats))
	}
	for _, f := range formats {
		if f.Name == "" || len(f.Suffixes) == 0 || !strings.HasPrefix(f.Suffixes[0], ".") {
			t.Errorf("%+v", f)
		}
	}
}
