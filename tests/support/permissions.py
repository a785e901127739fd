"""Who may do what by the policy that ships: one table, which every engine has to agree with.

The people: `olga` (owner), `sam` (senior), `june` and `jim` (juniors), `obi` (observer). Two teams: `shop`, which is
june's and which sam and jim are in as well, and `bank`, which is sam's alone. The agents: june's `shop/builder` and
`shop/tester`, jim's `shop/helper`, sam's `bank/teller`. A person outside is `eve`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from corral.adapters.policy.rego_policy import RegoPolicy
from corral.adapters.policy.sources import read
from corral.domain.policy import ATTACH, Caller, Decision, Question, Target, asked_as

ROLES = {"olga": "owner", "sam": "senior", "june": "junior", "jim": "junior", "obi": "observer"}
TEAMS = {"olga": (), "sam": ("shop", "bank"), "june": ("shop",), "jim": ("shop",), "obi": ()}
OWNERS = {
    "shop": "june",
    "bank": "sam",
    "shop/builder": "june",
    "shop/tester": "june",
    "shop/helper": "jim",
    "bank/teller": "sam",
}


def caller(who: str) -> Caller:
    """A person by name, or an agent as TEAM/AGENT."""
    if "/" in who:
        owner = OWNERS[who]
        # All that its developer is: none of it may count.
        return Caller(user=owner, uid=1001, member=True, role=ROLES[owner], agent=who, teams=TEAMS[owner])
    return Caller(user=who, uid=1002, member=who in ROLES, role=ROLES.get(who, ""), teams=TEAMS.get(who, ()))


def target(on: str) -> Target:
    """TEAM/AGENT, TEAM, @PERSON, or `host`."""
    if on == "host":
        return Target()
    if on.startswith("@"):
        return Target(kind="person", owner=on[1:], owner_role=ROLES.get(on[1:], ""))
    team, _, agent = on.partition("/")
    owner = OWNERS.get(on, "")
    return Target(
        kind="agent" if agent else "team", team=team, agent=agent, owner=owner, owner_role=ROLES.get(owner, "")
    )


def question(who: str, words: str, on: str) -> Question:
    """`attach:observe` is the verb attach with its mode; `member_add:owner` adds somebody with that role."""
    verb, _, fact = words.partition(":")
    facts = {"mode" if asked_as(verb) == ATTACH else "role": fact} if fact else {}
    return Question(verb=verb, who=caller(who), on=target(on), facts=facts)


#: A line is one thing, then who may do it, then who may not. Everybody is asked.
EVERYBODY = ("olga", "sam", "june", "jim", "obi", "eve", "shop/builder", "shop/helper", "bank/teller")
TABLE = """
# what              on              who may
health              host            olga sam june jim obi shop/builder shop/helper bank/teller
list_agents         host            olga sam june jim obi
list_agents         shop            olga sam june jim obi shop/builder shop/helper
list_agents         bank            olga sam june jim obi bank/teller
stats               shop/builder    olga sam june jim obi shop/builder shop/helper
events              shop            olga sam june jim obi shop/builder shop/helper
member_ls           host            olga sam june jim obi
policy_check        host            olga sam june jim obi

get_value           shop            olga sam june jim obi shop/builder shop/helper
get_value           bank            olga sam obi bank/teller
list_tasks          shop            olga sam june jim obi shop/builder shop/helper
who_touched         bank            olga sam obi bank/teller

logs                shop/builder    olga sam june obi shop/builder
logs                shop/helper     olga sam jim obi shop/helper
logs                bank/teller     olga sam obi bank/teller
screen              shop/builder    olga sam june obi shop/builder
read_output         shop/builder    olga sam june obi shop/builder
show_entry          shop/builder    olga sam june obi shop/builder
replay              shop/builder    olga sam june obi shop/builder
attach:observe      shop/builder    olga sam june obi shop/builder
attach:observe      bank/teller     olga sam obi bank/teller

attach              shop/builder    olga sam june
attach:drive        shop/builder    olga sam june
attach:drive        shop/helper     olga sam jim
attach:drive        bank/teller     olga sam
attach:moderate     shop/builder    olga sam june
attach:moderate     bank/teller     olga sam
join_session:observe bank/teller    olga sam obi bank/teller
join_session:drive  shop/builder    olga sam june
steer_session       shop/builder    olga sam june
steer_session       shop/helper     olga sam jim
read_recording      shop/builder    olga sam june obi shop/builder
read_recording      bank/teller     olga sam obi bank/teller
send                shop/builder    olga sam june
send                shop/helper     olga sam jim
send                bank/teller     olga sam
broadcast           shop            olga june
answer_entry        shop/builder    olga sam june
claim_entry         shop/helper     olga sam jim
snooze_entry        bank/teller     olga sam

execute             shop/builder    olga june shop/builder
execute             shop/helper     olga jim shop/helper
kill_process        shop/builder    olga june shop/builder
write_to_process    bank/teller     olga sam bank/teller

up                  shop            olga june
down                shop            olga june
down                bank            olga sam
stop                shop/builder    olga june
restart             shop/helper     olga jim
fork                shop/builder    olga june
pause               bank/teller     olga sam
register_hooks      shop/builder    olga june

change_values       shop            olga sam june jim shop/builder shop/helper
change_values       bank            olga sam bank/teller
acquire_lease       shop/builder    olga june shop/builder
acquire_lease       shop/helper     olga jim shop/helper
release_lease       shop/builder    olga june shop/builder
claim_task          shop/builder    olga june shop/builder
add_task            shop            olga sam june jim shop/builder shop/helper
publish             shop            olga sam june jim shop/builder shop/helper
send_message        shop/builder    olga june shop/builder
send_message        @june           olga june
submit_merge        shop/helper     olga jim shop/helper
hear_hook           shop/builder    olga june shop/builder
check_writes        shop/builder    olga june shop/builder

list_inbox          @june           olga june
list_inbox          @obi            olga obi
read_message        shop/builder    olga june shop/builder
ack_message         @sam            olga sam

member_add:junior   bank            olga sam
member_add:junior   shop            olga
member_add:senior   bank            olga
member_add:owner    bank            olga
member_add:junior   host            olga
member_add:auditor  host            olga
member_rm:senior    host            olga
member_add          bank            -

token_add           @june           olga june
token_add           @sam            olga sam
token_add           @obi            olga obi
token_ls            host            olga
token_rm            @jim            olga jim

audit_export        host            olga sam
audit_export        @june           olga sam june
read_audit          @june           olga sam june
read_audit          @obi            olga sam obi
audit_verify        host            olga sam

stop_daemon         host            olga
note_fixes          host            olga
host_setup          host            olga
host_check          host            olga sam june jim obi
host_anything       host            olga

attach:zap          shop/builder    -
join_session:zap    shop/builder    -
no_such_verb        host            -
"""


def cases() -> list[tuple[str, str, frozenset[str]]]:
    """The lines of the table: what, on what, and who may."""
    lines = [line.split() for line in TABLE.splitlines() if line and not line.startswith("#")]
    return [(what, on, frozenset(who) - {"-"}) for what, on, *who in lines]


def decisions(asked: Sequence[Question], directory: str = "", seconds: float = 30.0) -> list[Decision]:
    """What the policy that ships says, with the files in `directory` over it."""

    async def decide() -> list[Decision]:
        policy = RegoPolicy(read(directory), seconds)
        try:
            await policy.start()
            return [await policy.decide(one) for one in asked]
        finally:
            await policy.close()

    return asyncio.run(decide())
