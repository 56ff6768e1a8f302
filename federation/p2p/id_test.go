package p2p

import (
	"testing"

	pb "github.com/libp2p/go-libp2p-pubsub/pb"
)

// TestAMessageIsKnownByItsBytesAlone is C-5 and C-6: whoever takes the sender and the number
// of a message to come for garbage does not have the message taken for a repetition; and the
// same bytes are one message, whatever numbers a sender gives.
func TestAMessageIsKnownByItsBytesAlone(t *testing.T) {
	msg := func(from, seqno, data string) string {
		return messageID(&pb.Message{From: []byte(from), Seqno: []byte(seqno), Data: []byte(data)})
	}
	if msg("acme", "7", "true") == msg("acme", "7", "garbage") {
		t.Error("garbage takes the id of a message to come")
	}
	if msg("acme", "7", "true") != msg("acme", "1", "true") || msg("acme", "7", "true") != msg("beta", "7", "true") {
		t.Error("one message has two ids")
	}
}
