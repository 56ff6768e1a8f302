package bundle

import (
	"bytes"

	"trustnode/did"
)

// DIDLogs makes the lines that carry a DID log whose first line is version from.
// A log longer than one line holds is cut between its lines; the witness file goes
// with each part.
func DIDLogs(d did.DID, from uint64, log, witness []byte) []DIDLog {
	var parts []DIDLog
	for len(log) > 0 {
		part := DIDLog{DID: d, From: from, Witness: witness}
		for len(log) > 0 {
			n := bytes.IndexByte(log, '\n') + 1
			if n == 0 {
				n = len(log)
			}
			if len(part.Log) > 0 && len(part.Log)+n > maxLogPart {
				break
			}
			part.Log = append(part.Log, log[:n]...)
			log = log[n:]
			from++
		}
		parts = append(parts, part)
	}
	return parts
}
