package collect

import "math"

// Room is how many bytes are free for files in a directory; not known where the system does not say.
func Room(dir string) (bytes int64, known bool) {
	bytes = room(dir)
	return bytes, bytes != math.MaxInt64
}
