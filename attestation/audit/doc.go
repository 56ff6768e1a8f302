// Package audit answers: what did this node itself do, who may see it, and
// where in the log does it lie? A row is the canonical JSON of one own act in
// bulk, such as a read; it stays on the node. The event audit.rows carries the
// RFC 6962 root over the rows since the one before it, so that each row can
// later be shown, one by one, to have been written then.
//
// The package reads no field of a row's body; what is in it, and who is named
// by For, is for the code that writes it. It stores nothing.
package audit
