package reqdigest

import "strconv"

// An Error says why a request has no digest. Its text names no value of the request, so it may be logged.
type Error struct {
	// Offset is the byte of the input at which the fault was seen, from 0, or -1 if it has no place there.
	Offset int
	// Msg is the fault in a few words.
	Msg string
}

// Error is the fault and its place.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Msg
	}
	return e.Msg + " at byte " + strconv.Itoa(e.Offset)
}
