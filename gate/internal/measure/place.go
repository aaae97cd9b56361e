package measure

import "fmt"

// PlaceError is an error in a file that somebody wrote or committed: it says where.
type PlaceError struct {
	File string
	Line int // counted from 1
	Err  error
}

func (e *PlaceError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *PlaceError) Unwrap() error { return e.Err }
