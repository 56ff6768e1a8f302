#!/usr/bin/env bash
# The whole road, as a person walks it: two organizations lend, a third mediates, anyone
# verifies offline. Runs in a folder of its own and leaves it behind on failure.
#   scripts/road.sh [--bin PATH] [--dir DIR] [--ports "H1 H2 H3 P1 P2 P3"] [--keep]
# Ports are 8501..8503 for HTTP and 8601..8603 for libp2p, or others where those are taken.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bin= dir= ports= keep=
while [ $# -gt 0 ]; do
	case $1 in
	--bin) bin=$2; shift 2 ;;
	--dir) dir=$2; shift 2 ;;
	--ports) ports=$2; shift 2 ;;
	--keep) keep=1; shift ;;
	*) echo "road.sh: unknown argument $1" >&2; exit 2 ;;
	esac
done
[ -n "$dir" ] || dir=$(mktemp -d)
mkdir -p "$dir"
if [ -z "$bin" ]; then
	bin=$dir/bin/trustnode
	(cd "$root" && go build -o "$bin" ./cmd/trustnode)
fi
mkdir -p "$dir/path"
ln -sf "$(realpath "$bin")" "$dir/path/trustnode"
PATH=$dir/path:$PATH
cp "$root/testnet/data/memory.jsonl" "$dir/memory.jsonl"
cd "$dir"

pids=()
stop() {
	[ ${#pids[@]} -eq 0 ] || kill -TERM "${pids[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	pids=()
}
finish() {
	code=$?
	stop
	if [ $code -ne 0 ]; then
		echo "road.sh: failed with $code; what it left is in $dir" >&2
		for o in acme vendor arbiter; do [ -f $o.log ] && { echo "-- $o.log" >&2; tail -n 15 $o.log >&2; }; done
	elif [ -z "$keep" ]; then
		cd / && rm -rf "$dir"
	fi
}
trap finish EXIT

# cut NAME prints the first string member NAME of the JSON on standard input.
cut_member() { sed -n 's/^[^"]*"'"$1"'": *"\([^"]*\)".*/\1/p' | head -n 1; }
# code N COMMAND… wants the exit code N.
code() {
	local want=$1 got=0
	shift
	"$@" || got=$?
	if [ "$got" -ne "$want" ]; then
		echo "road.sh: exit code $got, want $want: $*" >&2
		return 1
	fi
}
say() { printf '\n# %s\n' "$*"; }

export TRUSTNODE_PASSPHRASE=correct-horse-battery
# taken PORT… says whether something listens on one of the ports of this machine.
taken() {
	local p
	for p in "$@"; do
		if (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null; then return 0; fi
	done
	return 1
}
[ -n "$ports" ] || ports="8501 8502 8503 8601 8602 8603"
while taken $ports; do
	base=$((12000 + RANDOM % 18000)) # below the ports that systems give to outgoing connections
	ports="$((base + 1)) $((base + 2)) $((base + 3)) $((base + 101)) $((base + 102)) $((base + 103))"
done
read -r h1 h2 h3 p1 p2 p3 <<<"$ports"

say "three organizations"
trustnode init --data acme    --name "Acme Finance" --domain acme.example    --http 127.0.0.1:$h1 --p2p /ip4/127.0.0.1/tcp/$p1
trustnode init --data vendor  --name "Vendor Quant" --domain vendor.example  --http 127.0.0.1:$h2 --p2p /ip4/127.0.0.1/tcp/$p2
trustnode init --data arbiter --name "Arbiter"      --domain arbiter.example --http 127.0.0.1:$h3 --p2p /ip4/127.0.0.1/tcp/$p3

say "a federation, by files alone"
trustnode fed join-request --data vendor  -o vendor.join
trustnode fed join-request --data arbiter -o arbiter.join
trustnode fed create --data acme --name fin-lending --with vendor.join --with arbiter.join --mediator arbiter.join -o charter.fed
trustnode fed diff  --data vendor charter.fed
for o in acme vendor arbiter; do trustnode fed sign --data $o --now charter.fed; done
for o in acme vendor arbiter; do trustnode fed apply --data $o charter.fed; done

say "three nodes"
for o in acme vendor arbiter; do
	trustnode run --data $o 2>$o.log &
	pids+=($!)
done
trustnode status --data acme --wait fresh --timeout 30s --json

say "agents and memory"
trustnode agent add --data acme   research --can lend   --json
QUANT=$(trustnode agent add --data vendor quant --can borrow --json | tee /dev/stderr | cut_member did)
trustnode memory import --data acme --agent research --project portfolio --format mcp memory.jsonl --json
trustnode memory tag --data acme --project portfolio --release --add client:acme --all

say "a loan and a read"
PERM=$(trustnode loan issue --data acme --lender research --borrower "$QUANT" --scope 'tag:client:acme -tag:confidential age<90d' \
	--purpose "pressure-test strategy S7" --expires 720h --max-reads 5 --json | tee /dev/stderr | cut_member id)
trustnode loan read --data vendor --as quant --purpose "S7 drawdown check" --json "$PERM" | tee read1.json
trustnode memory add --data acme --agent research --project portfolio --tag client:acme --tag confidential "Board vote on S7 moved to January"
trustnode loan read --data vendor --as quant --purpose "S7 drawdown check, after the meeting" --json "$PERM" >read2.json
if grep -q "Board vote" read2.json; then echo "road.sh: a confidential entry was lent" >&2; exit 1; fi

say "revoked: the next read is refused"
trustnode loan revoke --data acme --reason ended "$PERM"
code 3 trustnode loan read --data vendor --as quant --purpose "again" --json "$PERM" | tee denied.json
grep -q '"code": "revoked"' denied.json
trustnode loan audit --data acme --json "$PERM"

say "a dispute, an answer, a ruling"
CASE=$(trustnode dispute file --data acme --loan "$PERM" --reason R1 --json | tee /dev/stderr | cut_member id)
trustnode dispute list --data arbiter --json
trustnode dispute show --data arbiter "$CASE"
trustnode dispute answer --data vendor "$CASE" --deny --text "retry loop, fixed"
trustnode dispute rule --data arbiter "$CASE" --outcome claimant --severity 30 --reasons "read attempted after revocation"

say "one score, computed twice"
T=$(date -u +%Y-%m-%dT%H:%M:%SZ)
sleep 3
trustnode trust show --data vendor  --as-of "$T" --json "$QUANT" | tee score.vendor
trustnode trust show --data arbiter --as-of "$T" --json "$QUANT" >score.arbiter
cmp score.vendor score.arbiter
trustnode dispute export --data arbiter "$CASE" -o case.tnb

say "what others' tools check: a log as tiles, an event as a file"
trustnode event export --data acme --tiles acme.log-tiles
grep -q '^quorum witnesses$' acme.log-tiles/policy
test "$(grep -c '/witness ' acme.log-tiles/checkpoint)" -ge 1
trustnode event prove --data vendor "$(trustnode event list --data vendor --type loan.issued --json | cut_member id)" -o loan.proof

say "everything off: one file, one command, no network"
stop
mkdir empty
offline=(env -i HOME="$PWD/empty" PATH="$PATH")
unshare -rn true 2>/dev/null && offline=(unshare -rn "${offline[@]}")
cp case.tnb empty/
(cd empty && "${offline[@]}" trustnode verify case.tnb)
cp loan.proof empty/
(cd empty && "${offline[@]}" trustnode verify loan.proof >/dev/null)

say "one byte changed: it does not verify"
size=$(wc -c <case.tnb)
for at in 0 $((size / 4)) $((size / 3)) $((size / 2)) $((size * 2 / 3)) $((size - 2)) $((size - 1)); do
	cp case.tnb empty/changed
	old=$(od -An -tu1 -j $at -N 1 case.tnb | tr -d ' ')
	printf "\\$(printf %03o $((old ^ 1)))" | dd of=empty/changed bs=1 seek=$at conv=notrunc status=none
	(cd empty && code 4 "${offline[@]}" trustnode verify changed)
done
say "done"
