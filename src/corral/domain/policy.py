"""What a policy is asked, and what it answers: both as values, whoever decides and wherever that is.

A question says who wants to do what on which thing. Its document is the `input` of the Rego in `corral/policy` and of a
host's own; the names in it are a contract. A request about several agents is several questions, one for each; so is a
list, of which only those rows are told that the caller may know (`ROWS`).
"""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

#: Where the decision is, in Rego: `data.corral.decision`.
PACKAGE, ENTRY_POINT = "corral", "decision"

#: Joining a terminal, in whatever way. What it is asked as depends on its `mode`.
ATTACH = "attach"
OBSERVE, DRIVE, MODERATE = MODES = ("observe", "drive", "moderate")
#: Handlers that do the same thing in another way. The policy and the audit trail have one verb for one thing: whoever
#: forbids it forbids every way of it, and whoever looks for it finds all of them.
_SAME = {"join_session": ATTACH}

# What a question can be about: `kind`.
AGENT, TEAM, HOST, PERSON = KINDS = ("agent", "team", "host", "person")

#: Where what is told of each thing is not decided by the verb itself: a row is told to whoever may do this with its
#: agent. Some lists have more in their rows than a list gives away.
ROWS = {
    "list_entries": "show_entry",
    "watch_entries": "show_entry",
    # These are no lists, and tell of what a list of agents would tell of.
    "health": "list_agents",
    "policy_check": "list_agents",
}

#: Who sees an event is told its data if they may do this with whose it is; by its noun.
_CONTENTS_OF_EVENT = {
    "kv": "list_values",
    "lease": "list_leases",
    "merge": "list_merges",
    "task": "list_tasks",
    "topic": "read_topic",
}
#: Names what agents leave behind: paths, commits, and programs of whoever was in their workspaces.
_CONTENTS_OF_RECEIPT = {"team.down": "list_merges"}
#: What is no agent's, and tells no more than that it happened.
_PLAIN_EVENTS = frozenset(("caller", "daemon", "doctor", "keeper", "member", "team"))

# The rules of denials that no policy made: none was asked, or what it said is no decision.
NO_ANSWER = "no_answer"
NO_DECISION = "no_decision"
TIMED_OUT = "timed_out"
BUSY = "busy"
TOO_LARGE = "too_large"
NOT_PLAIN = "not_plain"
NO_POLICY = "no_policy"
#: Of these the policy itself is the matter, or who answers for it.
_UNDECIDED = frozenset((NO_ANSWER, NO_DECISION, TIMED_OUT, BUSY, NO_POLICY))
#: The rule of the policy that ships for whoever it does not know.
_NOT_A_MEMBER = "not_a_member"

#: A reason is one sentence. What is longer is cut, so that no policy fills logs and journals.
_LONGEST_RULE, _LONGEST_REASON = 200, 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who asks: the OS user as the kernel names it, what it is to this host, and the agent that it is, if it is one."""

    user: str
    uid: int = -1
    #: Of an agent: that the person whom it works for is one.
    member: bool = False
    role: str = ""
    #: TEAM/AGENT. Then nothing of the person counts: neither role nor teams.
    agent: str = ""
    #: The teams that the person is in.
    teams: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What it is asked about. What does not exist yet belongs to whoever makes it."""

    kind: str = HOST
    team: str = ""
    #: Empty if it is about the team as a whole.
    agent: str = ""
    #: The person whose it is: who runs the agent, who has the team up, whose mailbox it is.
    owner: str = ""
    #: The role of that person; empty if they have none, or it is not known. Then nobody looks after them.
    owner_role: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """May this caller do that on this target?"""

    #: The name of a handler of the API: `send`, `logs`, `attach`. Of several that do the same, one (`asked_as`).
    verb: str
    who: Caller
    on: Target
    #: What counts for this verb alone: `mode` of attach, `role` of the member that is added or removed.
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Here, so that there is no question by the other name: a rule that forbids would not see it.
        if self.verb in _SAME:
            object.__setattr__(self, "verb", _SAME[self.verb])

    @property
    def key(self) -> Hashable:
        """What tells it from other questions: the same documents have the same, and others another."""
        return self.verb, self.who, self.on, tuple(sorted(self.facts.items())) if self.facts else ()

    def document(self) -> dict[str, object]:
        """The `input` of a policy. The same question is the same document, with its keys in the same order."""
        who, on = self.who, self.on
        return {
            "verb": self.verb,
            "who": {
                "uid": who.uid,
                "user": who.user,
                "member": who.member,
                "role": who.role,
                "agent": who.agent,
                "teams": sorted(who.teams),
            },
            "on": {
                "team": on.team,
                "agent": on.agent,
                "owner": on.owner,
                "owner_role": on.owner_role,
                "kind": on.kind,
            },
            "with": {key: self.facts[key] for key in sorted(self.facts)},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What the policy says: whether, by which rule, and why in one sentence."""

    allow: bool
    rule: str
    reason: str

    def as_json(self) -> dict[str, object]:
        return {"allow": self.allow, "rule": self.rule, "reason": self.reason}


def asked_as(handler: str) -> str:
    """The verb that a request is asked about and written down as."""
    return _SAME.get(handler, handler)


def names_of(verb: str) -> tuple[str, ...]:
    """The verb, and what else it is known by: entries of an audit trail may have any of them."""
    one = asked_as(verb)
    return one, *(handler for handler, same in _SAME.items() if same == one)


def is_undecided(rule: str) -> bool:
    """True if a denial is none that the policy came to: there is none that can be used, or it gave no answer."""
    return rule in _UNDECIDED


def denied(rule: str, reason: str) -> Decision:
    """A denial."""
    return Decision(allow=False, rule=rule, reason=reason)


def decision_of(answer: object) -> Decision:
    """The decision that an engine's answer is. Whatever is no decision in every detail is a denial that says so.

    None stands for an answer that is undefined: no rule of the policy came to one.
    """
    if answer is None:
        return denied(NO_ANSWER, "the policy gives no answer to this question, so it is denied")
    if not isinstance(answer, dict):
        return denied(NO_DECISION, f"the policy answered with {_a_word_for(answer)} and no decision, so it is denied")
    allow, rule, reason = (answer.get(key) for key in ("allow", "rule", "reason"))
    if not isinstance(allow, bool):
        return denied(NO_DECISION, f"allow is {_a_word_for(allow)} in the policy's answer, so it is denied")
    if not isinstance(rule, str) or not rule or not isinstance(reason, str):
        return denied(NO_DECISION, "the policy's answer names no rule and reason, so it is denied")
    return Decision(allow=allow, rule=rule[:_LONGEST_RULE], reason=reason[:_LONGEST_REASON])


def _a_word_for(value: object) -> str:
    words = {type(None): "missing", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return words.get(type(value), "a list" if isinstance(value, list) else "an object")


def contents_of_event(event: str) -> str:
    """What one must be allowed to do with whose an event is, to be told its data; empty if that it is seen will do."""
    if event in _CONTENTS_OF_RECEIPT:
        return _CONTENTS_OF_RECEIPT[event]
    noun = event.partition(".")[0]
    return "" if noun in _PLAIN_EVENTS else _CONTENTS_OF_EVENT.get(noun, "logs")


def remedy(decision: Decision, question: Question) -> str:
    """What helps somebody who was denied this: only what such a one may do, or whom to ask."""
    if decision.rule == NO_POLICY:
        return (
            "root mends it: sudo corral host setup --check tells how, and whether it is done; "
            "then sudo systemctl restart corral.service"
        )
    if decision.rule in _UNDECIDED:
        return f"root sees what is wrong with it: journalctl --unit corral.service (the rule is {decision.rule})"
    if decision.rule == _NOT_A_MEMBER:
        return "sudo corral member add lets somebody in: ask who runs this host"
    who, on, check = question.who, question.on, f"corral policy check {_typed(question)}"
    if who.agent:
        return f"people ask what an agent may do: {check}"
    told = f"{check} asks without doing it; an owner (corral member ls) can give another role"
    if question.verb == "up" and on.owner not in ("", who.user):
        return f"{on.owner} has a team {on.team}: give yours another name. {told}"
    return told


def _typed(question: Question) -> str:
    """The question, in the words of `corral policy check`."""
    who, on, facts = question.who, question.on, question.facts
    words = ["--as", who.agent] if who.agent else []
    words.append(question.verb)
    if on.team:
        words.append(f"{on.team}/{on.agent}" if on.agent else on.team)
    elif on.kind == PERSON and on.owner:
        words.append(f"@{on.owner}")
    for name, value in sorted(facts.items()):
        words += [f"--{value}"] if name == "mode" and value in MODES else ["--with", f"{name}={value}"]
    return shlex.join(words)
