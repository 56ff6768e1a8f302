package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/keys"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
	"trustnode/node/self"
)

// doctor looks at what an operator should know and would not see by using the node.
func (n *Node) doctor(ctx context.Context) []httpapi.Check {
	var out []httpapi.Check
	for _, look := range []func(context.Context) []httpapi.Check{
		n.checkIdentity, n.checkUpdateKeys, n.checkWitnesses, n.checkFiles, n.checkAgents, n.checkPartners, n.checkLog, n.checkErased, n.checkState, n.checkSpace,
	} {
		out = append(out, look(ctx)...)
	}
	return out
}

func ok(what string, args ...any) httpapi.Check {
	return httpapi.Check{Level: httpapi.LevelOK, What: fmt.Sprintf(what, args...)}
}

func warn(hint, what string, args ...any) httpapi.Check {
	return httpapi.Check{Level: httpapi.LevelWarn, What: fmt.Sprintf(what, args...), Hint: hint}
}

func fail(hint, what string, args ...any) httpapi.Check {
	return httpapi.Check{Level: httpapi.LevelFail, What: fmt.Sprintf(what, args...), Hint: hint}
}

func (n *Node) checkIdentity(ctx context.Context) []httpapi.Check {
	v, err := n.self.Ring.Head(ctx, n.cfg.Org)
	switch {
	case self.Behind(ctx, n.self.Ring, n.cfg.Org) != nil:
		d := fault.From(self.Behind(ctx, n.self.Ring, n.cfg.Org))
		return []httpapi.Check{fail(d.Hint, "%s", d.Detail)}
	case err != nil:
		return []httpapi.Check{fail("restore a newer backup of "+n.cfg.Dir, "the own identity cannot be read: %v", err)}
	case v.State == did.Frozen:
		return []httpapi.Check{fail("trustnode did show lists both entries; if you made one of them only, somebody has your update key", "two continuations of the own DID log are signed: partners accept nothing new from this organization")}
	case v.State == did.Deactivated:
		return []httpapi.Check{fail("", "the own DID is deactivated: this organization signs nothing any more")}
	}
	out := []httpapi.Check{ok("own identity: %s stands at %s, verified from its bytes at this start", n.cfg.Org, v.ID)}
	if _, _, err := n.sign.Log(ctx); err != nil {
		d := fault.From(err)
		out = append(out, fail(d.Hint, "nothing can be signed: %v", err))
	}
	p, under, err := n.member.Pending(ctx)
	switch {
	case err != nil:
		out = append(out, fail("the log of the node says more", "the DID log entry under way cannot be read: %v", err))
	case under && p.Committed.IsZero():
		out = append(out, warn("trustnode did rotate --resume goes on with it, --abandon forgets it", "entry %s of the own DID log is built and was not published", p.Version))
	case under:
		out = append(out, warn("trustnode did witness status", "entry %s of the own DID log waits since %s: %d of %d witnesses have signed it", p.Version, p.Committed, p.Have, p.Need))
	}
	return out
}

func (n *Node) checkUpdateKeys(context.Context) []httpapi.Check {
	place, apart, err := custody{n}.UpdatePlace()
	if err != nil {
		return []httpapi.Check{fail("", "where the update keys are kept cannot be read: %v", err)}
	}
	if n.cfg.Org.Method() != "webvh" {
		return nil
	}
	const gone = "if the store was moved: trustnode did rotate --update-keys DIR; if it is lost: trustnode did rotate --recovery --update-keys NEWDIR"
	_, err = os.Stat(place)
	absent := errors.Is(err, fs.ErrNotExist)
	there, unread := keys.Exists(place)
	switch {
	case unread != nil:
		return []httpapi.Check{warn("", "update keys: %s cannot be looked at: %v", place, unread)}
	case there && !apart:
		return []httpapi.Check{warn("move "+place+" to a medium that is plugged in for rotations only, then: trustnode did rotate --update-keys DIR",
			"the key of the next DID entry lies in the data directory: whoever gets this machine gets the organization's future keys too")}
	case there:
		return []httpapi.Check{ok("update keys: kept apart in %s", place)}
	case absent && apart:
		return []httpapi.Check{ok("update keys: kept apart in %s, which is not mounted now, as it should be", place)}
	case apart:
		return []httpapi.Check{warn("all is well if its medium is not plugged in there; "+gone, "update keys: %s holds no key store now", place)}
	}
	return []httpapi.Check{warn(gone, "the key of the next DID entry is not in %s, where it is looked for", place)}
}

func (n *Node) checkWitnesses(ctx context.Context) []httpapi.Check {
	h, err := n.self.Ring.History(ctx, n.cfg.Org)
	if err != nil {
		return nil // a did:key has none
	}
	list := h.Head().Parameters.Witness
	c, federated := n.member.Charter()
	switch {
	case h.Deactivated():
		return nil // nothing is left to witness
	case !list.None() && len(list.Keys) == list.Threshold && len(list.Keys) > 1:
		return []httpapi.Check{warn("trustnode did witness set --threshold N", "all %d witnesses must sign each DID entry: one that is gone for good blocks every rotation", len(list.Keys))}
	case !list.None():
		return []httpapi.Check{ok("witnesses: %d of %d members sign each entry of the own DID log", list.Threshold, len(list.Keys))}
	case federated && len(c.Head().ActiveMembers()) > 1:
		return []httpapi.Check{warn("trustnode did witness set", "nobody witnesses the own DID log: whoever steals the next update key could rotate alone")}
	}
	return nil
}

// checkFiles looks at who may read what in the data directory.
func (n *Node) checkFiles(context.Context) []httpapi.Check {
	var open []string
	for _, name := range []string{keysDir, updateDir, TokenFile, pinsFile} {
		st, err := os.Stat(filepath.Join(n.cfg.Dir, name))
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return []httpapi.Check{ok("files: keys, token and pins are readable by this user alone")}
	}
	return []httpapi.Check{fail("chmod -R go-rwx "+n.cfg.Dir, "others on this machine can read %s", strings.Join(open, ", "))}
}

func (n *Node) checkAgents(ctx context.Context) []httpapi.Check {
	list, err := n.member.Agents(ctx)
	if err != nil {
		return []httpapi.Check{fail("", "the agents cannot be read: %v", err)}
	}
	now, live := time.Now(), 0
	for _, a := range list {
		if a.State(now) == self.AgentLive {
			live++
		}
	}
	out := []httpapi.Check{ok("agents: %d live", live)}
	expiring, err := n.member.Expiring(ctx, now)
	if err != nil {
		return append(out, fail("", "whether agents can be renewed cannot be read: %v", err))
	}
	for _, a := range expiring {
		left := a.NotAfter.Time().Sub(now).Round(time.Minute)
		out = append(out, warn("trustnode agent add --request FILE with a new request from who holds its key", "agent %s ends in %s, and this node does not hold its key to renew it", a.Name, left))
	}
	return out
}

func (n *Node) checkPartners(ctx context.Context) []httpapi.Check {
	c, federated := n.member.Charter()
	if !federated {
		return nil
	}
	var out []httpapi.Check
	held := 0
	for _, r := range c.Head().ActiveMembers() {
		if r.DID == n.cfg.Org {
			continue
		}
		if at, forked, err := n.self.Rec.PartedAt(ctx, r.DID); err != nil {
			out = append(out, fail("trustnode fsck on the stopped node says more", "whether the log of %s has forked cannot be read: %v", r.Name, err))
		} else if forked {
			out = append(out, warn(logForkHint(r.DID.String()), "the log of %s has forked at %d: it signed two heads that exclude each other; nothing is lent to it or by it", r.Name, at))
		}
		v, err := n.self.Ring.Head(ctx, r.DID)
		switch {
		case err != nil:
			out = append(out, warn("trustnode run fetches it from peers", "the identity of %s is not held: %v", r.Name, err))
		case v.State == did.Frozen:
			out = append(out, warn("trustnode did show "+r.DID.String(), "%s is frozen: two continuations of its DID log are signed", r.Name))
		case v.State == did.Deactivated:
			out = append(out, warn("", "%s has ended its DID", r.Name))
		default:
			held++
		}
	}
	return append([]httpapi.Check{ok("partners: %d of %d identities are held and verify without a network", held, len(c.Head().ActiveMembers())-1)}, out...)
}

// logForkHint says what to do about a log that has forked.
func logForkHint(org string) string {
	return "trustnode event list --org " + org + " --any shows what is contested; only a charter that names the branch that stands ends it"
}

func (n *Node) checkLog(ctx context.Context) []httpapi.Check {
	state, why := n.self.Rec.State()
	at, forked, err := n.self.Rec.PartedAt(ctx, n.cfg.Org)
	switch {
	case err != nil:
		return []httpapi.Check{fail("trustnode fsck on the stopped node says more", "whether the own log has forked cannot be read: %v", err)}
	case forked:
		return []httpapi.Check{warn(logForkHint("self"), "log: %d entries, %s, and it has forked at %d: two heads of it are signed that exclude each other, so partners lend nothing to us or from us", n.logSize(n.cfg.Org), state, at)}
	case state == recorder.Open:
		return []httpapi.Check{ok("log: %d entries, open", n.logSize(n.cfg.Org))}
	}
	return []httpapi.Check{warn("peers bring what is missing; if none will come: trustnode run --accept-unconfirmed", "the own log is %s: %s", state, why)}
}

// maxNamed is how many rows a check names.
const maxNamed = 4

// checkErased tells of rows that were erased and came back with an older copy of the data.
func (n *Node) checkErased(ctx context.Context) (out []httpapi.Check) {
	list, err := n.self.Rec.RowsDue(ctx, maxNamed)
	if err != nil {
		return []httpapi.Check{fail("trustnode fsck on the stopped node says more", "whether erased rows came back cannot be read: %v", err)}
	}
	for _, d := range list {
		var ids []string
		for _, id := range d.Rows {
			ids = append(ids, id.String())
		}
		out = append(out, fail("erase again the one that was erased, each by its id: trustnode event erase ID; trustnode loan audit shows rows of a loan",
			"rows that were erased came back with an older copy of the data, and the log does not say which: %d of those under event %d, which are %s", d.Count, d.Index, strings.Join(ids, ", ")))
	}
	return out
}

func (n *Node) checkState(context.Context) []httpapi.Check {
	state, reasons, _ := n.member.State(time.Now())
	if state == federation.Fresh || state == federation.Alone {
		return []httpapi.Check{ok("federation: the node is %s", state)}
	}
	return []httpapi.Check{warn(strings.Join(n.member.Words(reasons), "; "), "federation: the node is %s", state)}
}
