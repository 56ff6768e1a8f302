package federationtest

import (
	"testing"
)

// Suite runs every case in a world of its own, made by world, which may wrap the
// case, as in a bubble of testing/synctest. Cases that wait for real deadlines
// are left out under -short unless virtual says that time costs nothing.
func Suite(t *testing.T, virtual bool, world func(t *testing.T, run func(*testing.T, World))) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.slow && !virtual && testing.Short() {
				t.Skip("waits for real deadlines")
			}
			world(t, func(t *testing.T, w World) { c.run(newPlace(t, w)) })
		})
	}
}

var cases = []struct {
	name string
	slow bool
	run  func(*place)
}{
	{"a message reaches every admitted node and nobody else", false, publishReachesAdmitted},
	{"what a node publishes it does not judge", false, ownIsNotJudged},
	{"a message over the cap is refused, one at the cap arrives", false, oversize},
	{"topics and protocols that are not ours are refused", false, foreignNames},
	{"a transport works while Run runs, and Run runs once", false, lifetime},
	{"an accepted message is passed on under the name of who passes it", false, acceptForwards},
	{"an ignored message is not passed on", false, func(p *place) { notForwarded(p, 2) }},
	{"a rejected message is not passed on", false, func(p *place) { notForwarded(p, 3) }},
	{"a message of an author who is not admitted is not judged", false, strangeAuthor},
	{"an ignored message is not judged again when it comes from another", false, ignoreSticks},
	{"every protocol carries frames up to its cap, both ways", false, frames},
	{"read deadlines end a read", false, deadlines},
	{"many streams at once do not mix", false, manyStreams},
	{"more streams than the protocol allows one peer are cut", false, tooManyStreams},
	{"garbage and endless streams are cut and others go on", false, badStreams},
	{"a silent stream is cut", true, silentStream},
	{"a peer no longer admitted has no link and no stream", false, unadmit},
	{"a peer admitted again is linked again", false, readmit},
	{"a stranger may say hello and use the lobby, and nothing else", false, lobby},
	{"a stranger who becomes a member is linked anew", false, fromLobbyToMember},
	{"a node restarted under its id is linked again", false, restart},
}
