# The decision: the one question that Corral asks of a policy, `data.corral.decision`.
#
# It is {"allow": …, "rule": …, "reason": …}. What is forbidden (`deny`) wins over what is allowed (`allow`), and what
# neither names is denied. Both are objects: the name of a rule, and one sentence why. Files of a host add to them in
# this package; files of a team in `package corral.teams.NAME`, and those count for what is asked about that team only.
package corral

decision := {"allow": false, "rule": rule, "reason": deny[rule]} if {
	count(deny) > 0
	rule := min(object.keys(deny))
} else := {"allow": true, "rule": rule, "reason": allow[rule]} if {
	count(allow) > 0
	rule := min(object.keys(allow))
} else := {"allow": false, "rule": refusal.rule, "reason": refusal.reason}

allow[rule] := reason if some rule, reason in data.corral.teams[input.on.team].allow

deny[rule] := reason if some rule, reason in data.corral.teams[input.on.team].deny

# `deny if …` in the place of `deny["name"] := "why" if …` names no rule, and would forbid nothing without a word.
deny["rules_of_the_team"] := reason if {
	some name in ["allow", "deny"]
	rules := data.corral.teams[input.on.team][name]
	not is_object(rules)
	not is_set(rules)
	reason := concat(" ", ["the rules of the team", input.on.team, "have a value at", name, "that names no rule"])
}
