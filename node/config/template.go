package config

// template is the file `trustnode init` writes: every key, what it means, its default.
const template = `# trustnode configuration. Unknown keys are refused. TRUSTNODE_HTTP, TRUSTNODE_P2P and
# TRUSTNODE_LOG_LEVEL override what stands here; flags override both.

# Name of the organization, shown to people. At most 64 characters.
name = %s

# DID of the organization this node speaks for. Set by init, never changed by hand.
org = %s

# Where people of other organizations reach you, e.g. "mailto:trust@acme.example". May be empty.
contact = %s

[http]
# Address of the HTTP server. Default 127.0.0.1:8420. Put a TLS proxy in front to serve others.
listen = %s
# Base URL under which others reach this server, e.g. "https://acme.example". Empty: lenders and
# borrowers meet over libp2p alone.
public = %s
# true: anyone who reaches this server may list events and fetch logs, with the bodies that are
# for every member. Default false: the operator alone; members have sync.
public_events = false

[p2p]
# libp2p listen addresses. They are also what the node's binding tells the other members.
listen = %s

[federation]
# Seconds between two sync rounds with each member, 1..3600. Default 60.
sync_every_s = 60
# Networks of members that share one address and are not limited per subnet, e.g. ["10.0.0.0/8"].
cidrs = []

[identity]
# Networks that are not public and from which DID documents are fetched all the same, e.g.
# ["10.1.0.0/16"]. Default none. Documents of partners in a private network need them: a host
# name in a foreign DID must not lead this node to addresses inside its own network.
fetch_allow_cidrs = []

[lending]
# true: a loan to another organization needs a pact. Default false: it is issued with hygiene code H10.
require_pact = false
# Reads a second that one borrowing agent may ask for, 1..1000000. Default 200.
reads_per_s = 200
# Hygiene codes that refuse a loan: of H1, H2, H3, H4, H5, H6, H7, H8, H10; docs/lending.md says what each is.
# Default none: they are shown, and kept with the loan.
refuse_hygiene = []
# On how many entries in scope a tag must be for a discovery to tell it, 1..100. Default 5.
discover_min = 5
# Beginnings of tags that no discovery tells, such as "deal:". class: and origin: are never told.
hidden_tags = []

[audit]
# Seconds that audit rows (reads, denials) keep their bytes; after that a row is its hash alone, and
# every proof given out still verifies. At least 7776000. Default 34560000, 400 days. Never less than
# the longest case of the charter and 90 days, nor while an open case rests on the row.
keep_s = 34560000

[disk]
# MiB of DIR/ballast, which holds room that deleting it frees when the disk is full. 0 keeps none.
# Default 256. The node makes it anew once there is space.
ballast_mib = %d

[log]
# debug, info, warn or error. Default info. Lent content and keys are never logged.
level = "info"
`
