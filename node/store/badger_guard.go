package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
)

// What Badger does not see by itself. A block of a table that does not hash reads as one
// without keys, and so does a whole table whose last block does not. It takes the first record of a memtable's log that
// does not hash for the end of it, and drops what follows; it takes a manifest that is cut
// short for a shorter one, and deletes the tables it no longer names. So before a directory
// is opened, its files are compared with what a clean close wrote down, and after a kill the
// logs are read for commits behind the damage.

// DamagedError says which file of a database is not as it was written, and where.
type DamagedError struct {
	File   string
	Offset int64 // in bytes; -1 for the file as a whole
	What   string
}

// Error implements error.
func (e *DamagedError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s: at byte %d: %s", e.File, e.Offset, e.What)
}

// FaultCode is the code of the refusal of a damaged directory.
func (*DamagedError) FaultCode() string { return "unavailable" }

// FaultReason is the reason of the refusal.
func (*DamagedError) FaultReason() string { return "corrupt" }

// FaultHint is what to do about it.
func (*DamagedError) FaultHint() string {
	return "keep the directory as it is and restore a backup beside it: trustnode restore FILE --data NEWDIR"
}

// sealFile lists the tables of a closed database and the hash of its manifest.
const sealFile = "SEAL"

// seal writes down what a closed database consists of.
func seal(dir string) error {
	text, err := sealText(dir)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, sealFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(dir))
}

func sealText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		switch {
		case filepath.Ext(e.Name()) == ".sst":
			st, err := e.Info()
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s %d\n", e.Name(), st.Size())
		case e.Name() == badger.ManifestFilename || e.Name() == "KEYREGISTRY":
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s %x\n", e.Name(), sha256.Sum256(text))
		}
	}
	return b.String() + sealSum(b.String()), nil
}

// sealSum is the last line of a seal, over those before it.
func sealSum(lines string) string {
	sum := sha256.Sum256([]byte(lines))
	return hex.EncodeToString(sum[:]) + "\n"
}

// sealed reports whether a seal is as it was written.
func sealed(text string) bool {
	at := strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n') + 1
	return text[at:] == sealSum(text[:at])
}

// unseal compares a directory with its seal, where it has one, and takes the seal away:
// what is written from here on is not in it.
func unseal(dir string) error {
	name := filepath.Join(dir, sealFile)
	was, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // new, or its process was killed
	}
	if err != nil {
		return err
	}
	if !sealed(string(was)) {
		return &DamagedError{name, -1, "this list of files is damaged itself; without it the database opens unless one of them is damaged too"}
	}
	is, err := sealText(dir)
	if err != nil {
		return err
	}
	if string(was) != is {
		return &DamagedError{name, -1, "the files beside it are not those of the last clean stop: " + differ(string(was), is)}
	}
	return errors.Join(os.Remove(name), syncDir(dir))
}

// differ names the first line of one seal that the other lacks.
func differ(was, is string) string {
	has := strings.Split(is, "\n")
	for _, l := range strings.Split(was, "\n") {
		if file, _, _ := strings.Cut(l, " "); !slices.Contains(has, l) {
			return fmt.Sprintf("%.80q", file)
		}
	}
	return "files were added"
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// walHeader is what stands before the first record of a memtable's log; the rest of its
// format is header.Encode and logFile.iterate of Badger v4.
const walHeader = 20

// walBytes is the size of a log while it is written; one that was read over is cut to its
// last whole commit.
const walBytes = 2 * memTableBytes

// The bits of a record's meta byte.
const (
	walInTxn  = 1 << 6
	walEndTxn = 1 << 7
)

var walCRC = crc32.MakeTable(crc32.Castagnoli)

// record is one record of a memtable's log.
type record struct {
	meta    byte
	version uint64
	size    int
}

// parseRecord reads the record at the start of b, false where there is none that hashes.
func parseRecord(b []byte) (record, bool) {
	if len(b) < 10 || b[0]&(walInTxn|walEndTxn) == 0 {
		return record{}, false
	}
	at := 2
	var n [3]uint64 // lengths of key and value, expiry
	for i := range n {
		v, k := binary.Uvarint(b[at:min(at+binary.MaxVarintLen64, len(b))])
		if k <= 0 {
			return record{}, false
		}
		n[i], at = v, at+k
	}
	if n[0] < 8 || n[0] > MaxKeyBytes+64 || n[1] > MaxValueBytes+64 || uint64(at)+n[0]+n[1]+4 > uint64(len(b)) {
		return record{}, false
	}
	end := at + int(n[0]+n[1])
	if crc32.Checksum(b[:end], walCRC) != binary.BigEndian.Uint32(b[end:]) {
		return record{}, false
	}
	key := b[at : at+int(n[0])]
	r := record{meta: b[0], version: math.MaxUint64 - binary.BigEndian.Uint64(key[len(key)-8:]), size: end + 4}
	return r, true
}

// checkLogs reads the memtables' logs of a database that was not closed. A commit behind a
// record that does not hash was acknowledged after it: that is damage, and no torn end. A
// last commit that does not hash looks like a torn one and is for pins and outbox to miss.
func checkLogs(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := checkLog(name); err != nil {
			return err
		}
	}
	return nil
}

func checkLog(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(b) < walHeader {
		return nil
	}
	for i, x := range b[:8] {
		if x != 0 {
			return &DamagedError{name, int64(i), "the log names a key, and nothing here is encrypted"}
		}
	}
	at, open, last := walHeader, uint64(0), uint64(0) // versions: of the newest record, and committed whole
	for {
		r, ok := parseRecord(b[at:])
		if !ok {
			break
		}
		open = r.version
		if at += r.size; r.meta&walEndTxn != 0 {
			last = r.version
		}
	}
	if len(b) < walBytes && (at < len(b) || open > last) {
		return &DamagedError{name, int64(len(b)), "the log is cut short"}
	}
	end := len(b)
	for end > at && b[end-1] == 0 {
		end--
	}
	for i := at; i < end; i++ {
		// The one commit after the last whole one may be torn; nothing is written behind it.
		if r, ok := parseRecord(b[i:end:end]); ok && r.version > max(last+1, open) {
			return &DamagedError{name, int64(at), "a record does not hash, and commit " + strconv.FormatUint(r.version, 10) + " lies behind it"}
		}
	}
	return nil
}

// checkTables verifies every block of every table that the manifest names.
func checkTables(dir string) error {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	m, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir))
	if err != nil {
		return &DamagedError{f.Name(), -1, err.Error()}
	}
	ids := slices.Sorted(maps.Keys(m.Tables))
	bad := make([]error, len(ids))
	sideBySide(len(ids), func(i int) { bad[i] = checkTable(table.NewFilename(ids[i], dir), ids[i]) })
	return errors.Join(bad...)
}

// checkTable verifies one table from its bytes. Badger panics on some that are damaged.
func checkTable(name string, id uint64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &DamagedError{name, -1, "the table does not read"}
		}
	}()
	b, err := os.ReadFile(name)
	if err != nil {
		return &DamagedError{name, -1, err.Error()}
	}
	o := badger.DefaultOptions("")
	t, err := table.OpenInMemoryTable(b, id, &table.Options{ChkMode: options.NoVerification, Compression: o.Compression, BlockSize: o.BlockSize})
	if err != nil {
		return &DamagedError{name, -1, err.Error()}
	}
	if err := t.VerifyChecksum(); err != nil {
		return &DamagedError{name, -1, err.Error()}
	}
	return nil
}
