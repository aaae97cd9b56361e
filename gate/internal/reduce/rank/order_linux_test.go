package rank

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlantedOrder wants no rank to follow an order that another user wrote, could write, or put in place by a link.
// Such a rank leaves no file.
func TestPlantedOrder(t *testing.T) {
	const job = "job-1"
	for name, x := range map[string]struct {
		plant func(dir, file string) error
		says  string // "" for an order that is followed
	}{
		"own": {func(string, string) error { return nil }, ""},
		"of another user": {func(_, file string) error { return os.Chown(file, 4711, -1) },
			"belongs to another user (uid 4711), and its commands would run as you"},
		"written by all": {func(_, file string) error { return os.Chmod(file, 0o622) },
			"can be written by other users (mode 0622)"},
		"link": {func(dir, file string) error {
			return errors.Join(os.Rename(file, filepath.Join(dir, "elsewhere")), os.Symlink("elsewhere", file))
		}, "is a link; put the file itself there"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := (Order{Exe: "/planted/nsys", Unprofiled: true}).Write(dir, job); err != nil {
				t.Fatal(err)
			}
			if err := x.plant(dir, OrderFile(dir, job)); errors.Is(err, os.ErrPermission) {
				t.Skip("only root gives files away")
			} else if err != nil {
				t.Fatal(err)
			}
			r := &rank{Options: Options{Gather: dir, Job: job}, status: Status{Format: statusFormat}}
			err := r.arrive()
			_, left := os.Stat(File(dir, job, 0, StatusFile))
			if x.says == "" {
				if err != nil || left != nil || r.Exe != "/planted/nsys" {
					t.Errorf("%v, %v, %+v", err, left, r.Order)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), x.says) || left == nil || r.Exe != "" {
				t.Errorf("%v, want %q; order %+v", err, x.says, r.Order)
			}
		})
	}
}
