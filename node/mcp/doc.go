// Package mcp answers: what may an agent of this organization do here from a tool that
// speaks the Model Context Protocol, and how does it get there?
//
// It serves tools only, never resources or prompts, whose results may be cached on the way
// (04 section 9): memory_search and memory_add for the memory of the agent's own project, and
// loan_request, loan_list, loan_discover, loan_read, loan_status and loan_receipts for loans. The tools call the same use
// cases as HTTP does. A token of the MCP surface names one agent; that agent, its place and
// its key follow from the token alone, and an argument that names another is refused.
//
// [Handler] is the endpoint of a running node, Streamable HTTP without sessions: every
// request carries the token and is judged by itself, so there is no session to bound, to
// fixate or to take over. [Bridge] is the same on standard input and output, for clients that
// start their servers themselves: it holds no key, opens no store, and asks the running node
// by its own token over HTTP.
//
// What comes in is read strictly before anything is looked up: one JSON object, no member
// twice, none unknown or in another case, no lone surrogate, bounded depth and size. What
// goes out is structured content beside a text in which entries stand as quotations. A
// refusal is a result with isError that carries the problem object.
//
// No tool approves, issues, revokes or tags anything. What a model reads cannot give it more
// than its token does.
package mcp
