# How far a scope reaches: from whoever asks (`input.who`) to what it is asked about (`input.on`).
package corral

reaches("any")

# What belongs to the person. An agent owns nothing.
reaches("own") if {
	input.who.agent == ""
	input.who.user != ""
	input.on.owner == input.who.user
}

# Agents of people that the role looks after.
reaches("below") if {
	input.on.kind == "agent"
	input.on.owner_role in data.tables.roles[role].over
}

# What a whole team of theirs shares, and what of it is their own.
reaches("team") if {
	in_own_team
	input.on.agent == ""
}

reaches("team") if {
	in_own_team
	reaches_own_agent
}

# All agents of a team of theirs.
reaches("teammates") if in_own_team

# The agent itself.
reaches("self") if is_itself

in_own_team if {
	input.who.agent == ""
	input.on.team in input.who.teams
}

in_own_team if {
	input.who.agent != ""
	input.on.team == split(input.who.agent, "/")[0]
}

reaches_own_agent if {
	input.who.agent == ""
	input.on.owner == input.who.user
}

reaches_own_agent if is_itself

is_itself if {
	input.who.agent != ""
	input.who.agent == concat("/", [input.on.team, input.on.agent])
}
