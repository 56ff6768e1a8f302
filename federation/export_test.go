package federation

// NewTestFrames gives tests limits of their own.
func NewTestFrames(s Stream, lim Limits) *Frames { return newFrames(s, lim) }
