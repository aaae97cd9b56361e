package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
	"github.com/nsgate/nsgate/gate/internal/result"
)

// KeptRoot is the directory of a local baseline, in the user's cache by repository; of all of them for "".
func KeptRoot(name string) (string, error) {
	cache, err := os.UserCacheDir()
	at, wrong := filepath.Abs(cmp.Or(Repository(), "."))
	sum := sha256.Sum256([]byte(at))
	return filepath.Join(cache, "nsgate", "kept", hex.EncodeToString(sum[:8]), name), cmp.Or(err, wrong)
}

// Kept are the names of the local baselines of this repository.
func Kept() []string {
	root, _ := KeptRoot("")
	dirs, _ := subdirectories(root)
	return measure.Map(dirs, filepath.Base)
}

// fresh is a session as a new entry of a baseline.
func fresh(s model.Session) baseline.Entry {
	s.ID = ""
	return baseline.Entry{Session: s}
}

// Keep makes what a report measured the local baseline of a name, in place of that of the same workload and GPU, and
// counts the workloads that were measured.
func Keep(name string, r *result.Report) (kept int, err error) {
	root, err := KeptRoot(name)
	for _, w := range r.Each() {
		if err != nil || len(w.HeadSessions) == 0 {
			continue
		}
		dir := baseline.Dir(root, cmp.Or(w.Workload, "default"), w.HeadSessions[len(w.HeadSessions)-1].GPU)
		if err = os.RemoveAll(dir); err == nil {
			_, err = baseline.Add(dir, func(*baseline.Baseline) ([]baseline.Entry, error) {
				return measure.Map(w.HeadSessions, fresh), nil
			})
			kept++
		}
	}
	return kept, err
}
