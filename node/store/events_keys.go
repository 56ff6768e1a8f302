package store

import (
	"crypto/sha256"
	"encoding/binary"

	"trustnode/did"
	"trustnode/did/envelope"
)

// The keys of the audit database. o is the number of a log, 4 bytes; all
// numbers are big endian, so that byte order is numeric order.
//
//	lo/<did>               number of the log
//	or/<o>                 DID of the log
//	he/<o>                 size 8, root 32, edge n × 32
//	en/<o><index 8>        entry
//	ti/<o><level 1><n 8>   tile: 1 to 256 hashes of tree level 8·level
//	no/<o><size 8>         signed note
//	wi/<o><size 8><did>    earliest time 8 at which did cosigned size or more
//	id/<id 16><o>          first index 8 of an event's id
//	po/<dim 1><hash 8><o><base 8>  offsets from base, uvarints: one per value and append
//	ic                     number 8 of events ever appended, over all logs
//	in/<n 8>               o 4, base 8, count 2: the events numbered from n on, as one append brought them
//	la/<o><index 8>        number 8 under which an event came to count, after it had come without
//	da/<o><level 1><n 8>   earliest 8, latest 8: seconds since 1970 of the events n·256^(level+1) and following
//	lv/<o>                 size 8 up to which events are judged
//	st/<o><index 8>        standing 1, level 1, reason; only of what is not valid
//	mb/<o><index 8>        id 32 of a body that is named and not held
//	bo/<id 32>             a body
//	ev/<o><size 8><hash 8> evidence: a note that contradicts this log
//	fk/<o><hash 8>         proof that this log has forked
//	er/<o><index 8>        event whose origin erased its body: when that is due here 8, 0 once it is done
//	ec/<o>                 index 8 below which the log.erased of a log are noted
//	gb/<id 32>             a body that is erased: it is never taken again
//	br/<o><index 8>        entry of another branch of this log
//	cu/<o>                 size 8 to which a cut of this log is under way
//	row/<n 8>              audit row; of one that is erased or past its age, its hashes alone
//	ri/<id 16>             number 8 of a row
//	rp/<hash 16><n 8>      rows by key
//	ra                     number 8 up to which all rows are their hashes alone
//	rc/<^first 8>          first 8, size 8, index 8 of an audit.rows, newest first; and 1 for a log.gap of rows
//	rn                     number of rows 8, of those covered 8
//	mk                     last outbox number taken in
const (
	keyLogNumber = "lo/"
	keyLogName   = "or/"
	keyHead      = "he/"
	keyEntry     = "en/"
	keyTile      = "ti/"
	keyNote      = "no/"
	keySeen      = "wi/"
	keyID        = "id/"
	keyPosting   = "po/"
	keyIngested  = "ic"
	keyIngest    = "in/"
	keyLate      = "la/"
	keyTimes     = "da/"
	keyLevel     = "lv/"
	keyStanding  = "st/"
	keyWanted    = "mb/"
	keyBody      = "bo/"
	keyEvidence  = "ev/"
	keyFork      = "fk/"
	keyErased    = "er/"
	keyErasedTo  = "ec/"
	keyGoneBody  = "gb/"
	keyBranch    = "br/"
	keyCut       = "cu/"
	keyRow       = "row/"
	keyRowID     = "ri/"
	keyRowKey    = "rp/"
	keyAged      = "ra"
	keyCover     = "rc/"
	keyRowCount  = "rn"
	keyMark      = "mk"
)

// The dimensions of postings.
const (
	dimType    = 't'
	dimFamily  = 'f'
	dimSubject = 's'
	dimActor   = 'a'
	dimRef     = 'r'
	dimBody    = 'b'
)

func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func key(prefix string, parts ...[]byte) []byte {
	k := []byte(prefix)
	for _, p := range parts {
		k = append(k, p...)
	}
	return k
}

func logKey(prefix string, o uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte(prefix), o)
}

func indexKey(prefix string, o uint32, n uint64) []byte {
	return binary.BigEndian.AppendUint64(logKey(prefix, o), n)
}

func tileKey(o uint32, level byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(logKey(keyTile, o), level), n)
}

func seenKey(o uint32, size uint64, w did.DID) []byte {
	return append(indexKey(keySeen, o, size), w.String()...)
}

func idKey(id envelope.ID, o uint32) []byte {
	sum := id.Sum()
	return binary.BigEndian.AppendUint32(append([]byte(keyID), sum[:16]...), o)
}

func postingPrefix(dim byte, value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return append(append([]byte(keyPosting), dim), sum[:8]...)
}

func bodyKey(id envelope.ID) []byte {
	sum := id.Sum()
	return append([]byte(keyBody), sum[:]...)
}

func goneBodyKey(id envelope.ID) []byte {
	sum := id.Sum()
	return append([]byte(keyGoneBody), sum[:]...)
}

func rowIDKey(id envelope.ID) []byte {
	sum := id.Sum()
	return append([]byte(keyRowID), sum[:16]...)
}

func rowKeyPrefix(k string) []byte {
	sum := sha256.Sum256([]byte(k))
	return append([]byte(keyRowKey), sum[:16]...)
}
