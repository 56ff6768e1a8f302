package strictjson

// builtDepth bounds the nesting of a value put together here. Parsed parts obey the depth their caller gave to Parse,
// which is 32 at most in this project (DID documents); the rest is room for what is wrapped around them.
const builtDepth = 64

// fewMembers is the number of members up to which an object is searched for a duplicate name by comparing in turn;
// above it a set is built, so that an object of n names never costs n² comparisons.
const fewMembers = 12
