// Package lending answers: may this request be answered under this permission,
// and what does the answer prove?
//
// It holds the pure rules of lending: the scope language, the signed bodies
// permission, readrequest, receipt, revocation and loanrequest, the rows of the
// audit trail, the bytes of an answer and their hash, and the decision over one
// request. Bodies are sealed and opened by did/envelope.
//
// It holds no store, no clock, no socket and no key. Entries live in
// node/memory, transactions and releases in node/lender, the borrower's side in
// node/client.
package lending
