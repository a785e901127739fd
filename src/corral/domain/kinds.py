"""What kinds of things a team runs. No imports: everybody may read this."""

#: It is spoken to: a coding agent, or whatever stands in for one.
AGENT = "agent"
#: It serves the others and is spoken to by nobody: a database, a development server.
SERVICE = "service"

KINDS = (AGENT, SERVICE)
