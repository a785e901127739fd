# What roles may do, by the tables of data.json: a verb is an act, and a role has acts granted, each as far as some scopes
# reach.
package corral

# Whoever speaks as an agent is that and nothing else: the role of the person it works for counts for nothing.
role := "agent" if input.who.agent != ""

role := input.who.role if input.who.agent == ""

# Without a mode one attaches to type.
mode := object.get(input["with"], "mode", "drive")

# What this is depends on how it is meant.
act := data.tables.modes[mode] if {
	input.verb == "attach"
} else := data.tables.verbs[input.verb] if {
	input.verb != "attach"
} else := "host" if {
	startswith(input.verb, "host_")
}

# A team may have granted its own; then what the host grants is not looked at.
scopes := data.tables.teams[input.on.team][role].grants[act] if {
	data.tables.teams[input.on.team][role].grants[act]
} else := data.tables.roles[role].grants[act]

allow[rule] := reason if {
	some scope in scopes
	reaches(scope)
	rule := concat(".", [role, act, scope])
	reason := concat(" ", [called, "may", data.tables.acts[act], data.tables.scopes[scope]])
}

deny["not_a_member"] := reason if {
	not input.who.member
	reason := concat(" ", [input.who.user, "is no member of this host"])
}

# Who may let people in may not make them mightier than themselves.
deny["gives_too_much"] := reason if {
	act == "members"
	not gives_within_bounds
	reason := concat(" ", [called, "may give and take", may_give, "and this is about", asked_for])
}

may_give := "any role," if {
	"any" in data.tables.roles[role].gives
} else := concat(" ", ["the roles", concat(", ", data.tables.roles[role].gives), "only,"]) if {
	count(data.tables.roles[role].gives) > 0
} else := "no role,"

asked_for := concat(" ", ["the role", input["with"].role]) if {
	is_string(input["with"].role)
	input["with"].role != ""
} else := "a role that is not named"

gives_within_bounds if input["with"].role in data.tables.roles[role].gives

# Also a role that a host has added, and one that there is not: whoever carries it out says which there are.
gives_within_bounds if {
	"any" in data.tables.roles[role].gives
	is_string(input["with"].role)
}

# Whoever has the role of agents and cannot show which one it is, is none.
deny["unknown_agent"] := reason if {
	input.who.role == "agent"
	input.who.agent == ""
	reason := concat(" ", [input.who.user, "has the role of agents, and did not show which agent it is"])
}

# A part that is missing makes rules undefined, also those that forbid.
deny["incomplete"] := "the question lacks a part" if not is_whole

is_whole if {
	is_object(input.on)
	is_object(input["with"])
}
