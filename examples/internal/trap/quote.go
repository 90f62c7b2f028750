package trap

// Quotations of the Model Context Protocol's specification, verbatim but for its Markdown.
const (
	// Warning is what the specification says of the measures against replay.
	Warning = "these measures bound the replay window and prevent cross-user and cross-request reuse, " +
		"but do not by themselves guarantee single-use."
	// WarningSource is where.
	WarningSource = "MCP specification 2026-07-28, Multi Round-Trip Requests, Server Requirements (Basic Workflow)"
)
