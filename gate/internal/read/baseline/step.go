package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
)

// stepSuffix ends the name of the file with the typical step of a session, beside the file of the session. Pages draw
// it, and nothing is judged by it. maxStep is its largest size in bytes.
const (
	stepSuffix = ".step.json"
	maxStep    = 1 << 20
)

// WriteStep writes the typical step of a session beside the session's file, and returns the name of the new file, ""
// where the step is too large to keep.
func WriteStep(session string, d *model.Drawing) (file string, err error) {
	text, err := json.Marshal(d)
	if err != nil || len(text) >= maxStep {
		return "", err
	}
	file = strings.TrimSuffix(session, suffix) + stepSuffix
	if err := output.Text(file, 0o644, append(text, '\n')); err != nil {
		return "", unwritten(filepath.Dir(file), err)
	}
	return file, nil
}

// Step reads the typical step of the newest of these sessions that has one, nil where none has.
func Step(dir string, sessions []model.Session) (*model.Drawing, error) {
	for _, s := range slices.Backward(sessions) {
		name := s.ID + stepSuffix
		text, err := read(new(bytes.Buffer), dir, name, maxStep)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		d := &model.Drawing{}
		if err == nil {
			err = json.Unmarshal(text, d)
		}
		if err != nil {
			return nil, fmt.Errorf("%s holds no step that a page can show (%w); remove the file, or record anew",
				filepath.Join(dir, name), err)
		}
		return d, nil
	}
	return nil, nil
}
