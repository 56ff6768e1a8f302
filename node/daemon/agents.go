package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/node/fault"
)

// agentEnded makes the end of an own agent felt on both sides of lending before whoever
// revoked it is told so.
func (n *Node) agentEnded(ctx context.Context, d did.DID) int {
	n.client.AgentEnded()
	return n.lender.AgentEnded(ctx, d)
}

// What follows is for whoever holds the key of one agent or person: a store of its own
// under a passphrase of its own, a person's under the data directory, an agent builder's
// wherever it likes. A running node opens none of them.

// peopleDir is where persons' stores lie, each under its handle.
const peopleDir = "people"

var handle = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// PersonDir is where the key of a person of a node lies, whose handle is an agent's name.
func PersonDir(dir, name string) (string, error) {
	if !handle.MatchString(name) {
		return "", fault.New(fault.Invalid, "name", "%.40q is no handle", name).WithHint("a name is [a-z][a-z0-9-]{0,31}")
	}
	return filepath.Join(dir, keysDir, peopleDir, name), nil
}

// HolderKey returns the DID of the key in a store of its own; store and key are made where
// there are none. A key that was revoked is not the one: with it in not, another is
// returned, and made unless an interrupted call made it already.
func HolderKey(ctx context.Context, dir string, pass []byte, not did.DID) (did.DID, error) {
	s, err := openHolder(dir, pass)
	if errors.Is(err, keys.ErrAbsent) {
		s, err = createHolder(dir, pass)
	}
	if err != nil {
		return did.DID{}, err
	}
	defer s.Close()
	list, err := s.List(ctx)
	if err != nil {
		return did.DID{}, err
	}
	for _, k := range list {
		if d, err := didkey.FromKey(k); err != nil || d != not {
			return d, err
		}
	}
	key, err := s.Generate(ctx)
	if err != nil {
		return did.DID{}, err
	}
	return didkey.FromKey(key.Public())
}

// SignRequest signs the draft of an agent object with the key it names, out of a store of
// its own, and returns the request file.
func SignRequest(ctx context.Context, dir string, pass, draft []byte) ([]byte, error) {
	a, err := ReadDraft(draft)
	if err != nil {
		return nil, err
	}
	s, err := openHolder(dir, pass)
	if errors.Is(err, keys.ErrAbsent) {
		return nil, fault.Wrap(fault.NotFound, "keys", err).WithHint("trustnode agent request --key-dir %s makes a key, and names it for the draft", dir)
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	key, err := s.Signer(ctx, a.Key.Pub)
	if errors.Is(err, keys.ErrNoKey) {
		return nil, fault.New(fault.Refused, "no_key", "the draft is for %s, whose key is not in %s", a.Agent, dir).WithHint("trustnode agent request --key-dir %s names the key that is", dir)
	}
	if err != nil {
		return nil, err
	}
	e, err := keyring.RequestAgent(ctx, a, key)
	if err != nil {
		return nil, err
	}
	return append(e.DSSE(), '\n'), nil
}

// SignAs signs a body with the key of one DID out of a store of its own, and returns it in
// its compact form. The body names that DID as who signs it.
func SignAs[T envelope.Body](ctx context.Context, dir string, pass []byte, who did.DID, body T) (string, error) {
	s, err := openHolder(dir, pass)
	if err != nil {
		return "", err
	}
	defer s.Close()
	pub, err := didkey.Key(who)
	if err != nil {
		return "", err
	}
	key, err := s.Signer(ctx, pub)
	if errors.Is(err, keys.ErrNoKey) {
		return "", fault.New(fault.Refused, "no_key", "the key of %s is not in %s", who, dir).WithHint("run the command on the machine that has it")
	}
	if err != nil {
		return "", err
	}
	e, err := envelope.Seal(ctx, body, key)
	if err != nil {
		return "", err
	}
	return e.Compact()
}

// ReadDraft reads what a draft, or a request, asks of whoever signs it. Nothing of it is
// verified.
func ReadDraft(file []byte) (keyring.Agent, error) {
	e, err := envelope.ParseDSSE(trimLine(file), envelope.MaxBytes[keyring.Agent]())
	if err == nil {
		var a keyring.Agent
		if a, err = envelope.Decode[keyring.Agent](e); err == nil {
			return a, nil
		}
	}
	return keyring.Agent{}, fault.Wrap(fault.Invalid, "draft", err).WithHint("a draft comes from the organization: trustnode agent add NAME --can … --for DID --draft FILE")
}

func trimLine(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b[:n-1]
	}
	return b
}

// RetireKeys deletes the keys of such a store but the one named, which is the newest that
// the organization knows. Where that one is not there, or no store is, nothing is deleted.
func RetireKeys(ctx context.Context, dir string, pass []byte, keep did.DID) error {
	s, err := openHolder(dir, pass)
	if errors.Is(err, keys.ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(list), func(k did.PublicKey) bool { d, err := didkey.FromKey(k); return err == nil && d == keep })
	if len(others) == len(list) {
		return nil
	}
	for _, k := range others {
		if err := s.Delete(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

func openHolder(dir string, pass []byte) (*keys.Store, error) {
	s, err := keys.Open(dir, pass)
	if errors.Is(err, keys.ErrPassphrase) {
		return nil, fault.New(fault.Unauthenticated, "passphrase", "the passphrase does not open the keys in %s", dir).WithHint("it is that key's own, not the node's: TRUSTNODE_PERSON_PASSPHRASE")
	}
	return s, err
}

func createHolder(dir string, pass []byte) (*keys.Store, error) {
	if len(pass) < minPassphrase {
		return nil, fault.New(fault.Invalid, "passphrase", "the passphrase has %d bytes, at least %d are needed", len(pass), minPassphrase).WithHint("choose a longer one: TRUSTNODE_PERSON_PASSPHRASE")
	}
	return keys.Create(dir, pass)
}
