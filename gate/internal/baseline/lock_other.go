//go:build !(darwin || linux)

package baseline

import "os"

// lock only looks whether dir is there: this system has no lock on directories. Files are still replaced whole.
func lock(dir string, _ bool) (unlock func(), locked bool, err error) {
	_, err = os.Stat(dir)
	return func() {}, false, err
}
