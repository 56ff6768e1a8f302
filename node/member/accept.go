package member

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// acceptRow is the audit row of an operator's word that no peer need confirm.
type acceptRow struct {
	At     envelope.Time `json:"at"`
	Causes []string      `json:"causes"`
	Op     string        `json:"op"`
	Salt   string        `json:"salt"`
	State  string        `json:"state"`
}

const opAccept = "accept_unconfirmed"

// AcceptUnconfirmed leaves recovering and unconfirmed by the operator's word, which is
// kept as an audit row. It is refused where the node knows that something is missing: a
// charter or a part of the log that it has signed or followed before.
func (m *Member) AcceptUnconfirmed(ctx context.Context) error {
	at, err := m.now()
	if err != nil {
		return err
	}
	state, reasons, _ := m.State(at)
	if !slices.ContainsFunc(reasons, func(r federation.Reason) bool {
		return r.State == federation.Recovering || r.State == federation.Unconfirmed
	}) {
		return nil
	}
	m.mu.Lock()
	missing, seen := m.lacking(), m.recovery.grows
	m.mu.Unlock()
	if missing != nil {
		return missing
	}
	row, err := m.acceptRow(at, state)
	if err != nil {
		return err
	}
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		if _, err := m.n.Rec.Row(tx, row); err != nil {
			return err
		}
		return confirmIn(tx)
	})
	if err != nil {
		return undrafted(err)
	}
	m.mu.Lock()
	m.confirmed = !m.chain.IsZero()
	m.mu.Unlock()
	if err = m.resume(ctx, seen); errors.Is(err, recorder.ErrUnconfirmed) {
		return fault.Wrap(fault.Refused, reasonRecovering, err).WithHint("peers hold the missing part: let the node run beside them, or restore a newer backup")
	}
	return err
}

func (m *Member) acceptRow(at time.Time, state federation.State) (audit.Row, error) {
	m.mu.Lock()
	causes := []string{}
	for _, c := range m.causes() {
		causes = append(causes, string(c))
	}
	m.mu.Unlock()
	body, err := envelope.Marshal(acceptRow{At: envelope.TimeOf(at), Causes: causes, Op: opAccept, Salt: salt(), State: state.String()})
	return audit.Row{Kind: opAccept, Body: body}, err
}

// confirmIn says in a transaction that the head needs no first quorum any more.
func confirmIn(tx store.Tx) error {
	h, ok, err := get[headRow](tx, keyHead)
	if err != nil || !ok || h.Confirmed {
		return err
	}
	h.Confirmed = true
	return put(tx, keyHead, h)
}

// salt is 16 random bytes in base64url.
func salt() string {
	var b [16]byte
	rand.Read(b[:])
	return b64.EncodeToString(b[:])
}
