package keys

// FastParams make opening cheap where a test is not about the cost of guessing.
var FastParams = Params{Time: 1, MemoryKiB: 8, Threads: 1}
