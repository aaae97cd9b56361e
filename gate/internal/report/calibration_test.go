package report

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/report/story"
)

// calibrationsIn reads every calibration of testdata/calibration.
func calibrationsIn(t *testing.T) map[string]*calibrate.Calibration {
	return readAll[calibrate.Calibration](t, "testdata/calibration")
}

// TestCalibrationGolden renders every testdata/calibration/*.json in every form. The JSON form is the file itself:
// nothing is lost.
func TestCalibrationGolden(t *testing.T) {
	for name, c := range calibrationsIn(t) {
		if name == "hostile" {
			continue
		}
		for _, form := range []struct {
			ext, format string
			o           Options
		}{
			{"json", "json", Options{}},
			{"txt", "text", Options{Width: 80, ShowAll: "--verbose"}},
		} {
			t.Run(name+"."+form.ext, func(t *testing.T) {
				var b bytes.Buffer
				if err := Render(form.format, &b, c, form.o); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata/calibration", name+"."+form.ext), b.Bytes())
			})
		}
	}
}

func TestCalibrationText(t *testing.T) {
	for name, c := range calibrationsIn(t) {
		for _, width := range []int{1, 40, 60, 80, 100, 160} {
			for _, verbose := range []bool{false, true} {
				var b strings.Builder
				if err := Render("text", &b, c, Options{Width: width, Verbose: verbose}); err != nil {
					t.Fatal(err)
				}
				for _, l := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
					if n := story.Columns(l); n > max(width, 40) {
						t.Errorf("%s at %d: %d columns: %s", name, width, n, l)
					}
					if strings.HasPrefix(strings.TrimSpace(l), "::") || strings.Contains(l, "##[") {
						t.Errorf("%s: a CI runner would obey %q", name, l)
					}
					if i := strings.IndexFunc(l, unicode.IsControl); i >= 0 {
						t.Errorf("%s: a control character in %q", name, l)
					}
				}
			}
		}
	}
	if err := Render("junit", io.Discard, new(calibrate.Calibration), Options{}); err == nil ||
		!strings.Contains(err.Error(), "json, text") {
		t.Errorf("got %v", err)
	}
}
