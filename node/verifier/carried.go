package verifier

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// checkpoint is how a signed head of a log begins: its origin, a size, a root.
var checkpoint = regexp.MustCompile(`^did:\S+/log\n[0-9]{1,16}\n[A-Za-z0-9+/]{43}=\n\n— `)

// partOf tells the files of this program that are no proof by themselves: what each is part of, and what to do with
// it instead. Nil for any other bytes.
func partOf(head []byte) *refusal {
	switch text := string(head); {
	case strings.HasPrefix(text, "trustnode backup "):
		return carried("it is a backup of a node, which proves nothing to others").
			hinted("trustnode restore FILE --data NEWDIR verifies it whole, and refuses it otherwise")
	case strings.HasPrefix(text, "c2sp.org/tlog-proof@"):
		return carried("it is a C2SP tlog-proof, which lies beside the entry that it is of and the policy it is judged by").
			hinted("any tlog-proof tool takes the three; for this program write trustnode event prove ID -o FILE")
	case strings.HasPrefix(text, "log did:") && strings.Contains(text, "\nquorum "):
		return carried("it is the policy of a log: whose keys a node counts, signed by nobody").
			hinted("a whole log is verified as the directory it lies in: trustnode verify DIR")
	case checkpoint.Match(head):
		return carried("it is the signed head of a log, without the log").
			hinted("a whole log is verified as the directory it lies in: trustnode verify DIR")
	case isEntry(head):
		return carried("it is one entry of a log, without the proof that it lies there").
			hinted("any tlog-proof tool takes it with proof and policy; for this program write trustnode event prove ID -o FILE")
	case len(head) > 2 && int(binary.BigEndian.Uint16(head)) <= len(head)-2 && isEntry(head[2:]), isHashes(head):
		return carried("it is, or has the form of, a tile of a log, which nobody signed by itself").
			hinted("a whole log is verified as the directory it lies in: trustnode verify DIR")
	}
	return nil
}

// isEntry tells a log entry by its version and the object after its signature.
func isEntry(b []byte) bool {
	return len(b) > 67 && b[0] == 1 && bytes.HasPrefix(b[65:], []byte(`{"`)) && !isText(b[:65])
}

// isHashes tells what may be a tile of hashes: up to 256 of them, and no text.
func isHashes(b []byte) bool {
	return len(b) > 0 && len(b) <= 256*tlog.HashSize && len(b)%tlog.HashSize == 0 && !isText(b)
}
