package charter

import "time"

const (
	// MaxBody caps a charter body in bytes; growth stops at maxGrownBody, which
	// leaves room to expel everybody.
	MaxBody = 160 << 10
	// MaxJoin caps a join body in bytes.
	MaxJoin = 8 << 10
	// maxAbandon caps an abandon body in bytes.
	maxAbandon = 2 << 10
	// MaxFile caps what ReadFile takes in, in bytes: a boot file of a few hundred charters.
	MaxFile = 64 << 20

	maxGrownBody   = 96 << 10 // body bytes a growing charter may reach
	maxActive      = 64       // active members a growing charter may reach
	maxRecords     = 128      // member records a growing charter may reach
	maxAllRecords  = 512      // member records of any charter; the body cap binds first
	maxDID         = 128      // bytes of a member's DID
	maxName        = 64       // characters of a name
	maxContact     = 256      // bytes of a contact
	maxKid         = 128      // bytes of a kid
	maxVersion     = 128      // bytes of a DID version
	maxRecovery    = 16       // recovery keys
	maxBindings    = 8        // bindings of one member
	maxGaps        = 64       // gaps of one member
	maxReleased    = 64       // abandons a charter may list
	maxRound       = 7        // round of a charter
	maxCritical    = 32       // critical names
	maxPool        = 64       // organizations in the draw
	maxTies        = 512      // ties between affiliates
	maxAlternates  = 8        // alternates of the neutral mediator
	maxAttestors   = 16       // attestor keys of a contract
	minSpec        = 1        // lowest charter version
	nonceBytes     = 16       // bytes of a nonce
	maxDraftOthers = 4096     // lines of a file that are neither charter, join, binding nor DID log
)

const (
	minLife     = 7 * 24 * time.Hour
	maxLife     = 400 * 24 * time.Hour
	defaultLife = 180 * 24 * time.Hour

	day  = 24 * 60 * 60
	hour = 60 * 60
)

// SpecVersion is the charter version this package understands.
const SpecVersion = 1
