package did

// ReadMultibase reads the text of publicKeyMultibase, before anything is known of the key in it.
var ReadMultibase = decodeMultibase
