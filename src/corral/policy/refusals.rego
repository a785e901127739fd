# Why something is denied that no rule forbids: because none allows it. The nearest reason is told.
package corral

refusal := {"rule": "unknown_verb", "reason": reason} if {
	not act
	input.verb != "attach"
	reason := concat(" ", ["no rule knows the verb", input.verb])
} else := {"rule": "unknown_mode", "reason": reason} if {
	not act
	reason := concat(" ", [input.verb, "knows no mode", mode])
} else := {"rule": "unknown_role", "reason": reason} if {
	not data.tables.roles[role]
	reason := concat(" ", [called, "has a role that the policy does not know"])
} else := {"rule": concat(".", [role, act]), "reason": reason} if {
	not granted
	reason := concat(" ", [called, "may not", data.tables.acts[act], "anybody"])
} else := {"rule": concat(".", [role, act]), "reason": reason} if {
	reach := concat(" and ", [data.tables.scopes[scope] | some scope in scopes])
	reason := concat(" ", [called, "may", data.tables.acts[act], reach, "only, and this is about", about])
}

granted if count(scopes) > 0

called := concat(" ", ["the agent", input.who.agent]) if {
	input.who.agent != ""
} else := concat("", [input.who.user, " (", input.who.role, ")"])

about := concat(" of ", [thing, input.on.owner]) if {
	input.on.owner != ""
} else := thing

thing := concat("/", [input.on.team, input.on.agent]) if {
	input.on.agent != ""
} else := concat(" ", ["the team", input.on.team]) if {
	input.on.team != ""
} else := concat(" ", ["the", input.on.kind])
