package keys

const (
	// maxLock is the size of lock.json in bytes; it takes 180.
	maxLock = 1 << 10
	// maxBlob is the size of a stored key in bytes; a key takes about 600.
	maxBlob = 16 << 10
	// maxBlobID keeps names of files short; an id is the 43 characters of a SHA-256.
	maxBlobID = 64
	// maxRecovery is what is read of a typed recovery key in bytes; its text has 77, and room for spaces.
	maxRecovery = 256

	// A lock.json may come from a medium that was in other hands. Opening it must not take the machine down.
	maxTime      = 64
	maxMemoryKiB = 1 << 20 // 1 GiB
	maxThreads   = 16
)
