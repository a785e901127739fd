"""How what a request is about is found, for requests that name something of an agent by its id. See `about`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import msgspec

from corral.api.about import About, Case
from corral.api.finders import asking, of_agent, own, team
from corral.api.msg_requests import MessageBody
from corral.domain import inbox, msg, msg_parties, sends
from corral.domain.errors import NotFoundError
from corral.domain.inbox_records import number_of
from corral.domain.policy import Target
from corral.service.hook_notices import HookNotices
from corral.service.inbox import InboxService
from corral.service.merges import Merges
from corral.service.msg import Msg
from corral.service.process_finding import no_process
from corral.service.resolve import find_agent, find_team
from corral.service.sends import Sends


def process(case: Case) -> About:
    """A process of an agent, which was looked up before (`Case.place`). One of somebody unseen is not there."""
    id_of_it = case.request.path_params["process"]
    agent, named = case.text("agent"), case.text("team")
    if agent:
        found = find_agent(case.seen, team=named, agent=agent, cwd=case.text("cwd"))
        return of_agent(case, *found.key)
    if named:
        find_team(case.seen, name=named)
    place = case.place
    if place is None or place not in case.everything.agents or (named and place[0] != named):
        raise no_process(id_of_it)
    if not case.asking.sees(*place):
        raise no_process(id_of_it)
    return of_agent(case, *place)


class KeptFinders:
    """Those that need the use cases which keep what is named."""

    def __init__(self, *, inbox: InboxService, sends: Sends, msg: Msg, merges: Merges, notices: HookNotices) -> None:
        self._inbox = inbox
        self._sends = sends
        self._msg = msg
        self._merges = merges
        self._notices = notices

    def entry(self, case: Case) -> About:
        """An entry of the inbox: what is asked about is the agent whose it is."""
        number = number_of(case.request.path_params["entry"])
        cause = self._inbox.show(number).cause
        if not case.asking.sees(cause.team, cause.agent):
            raise inbox.no_entry(number)
        return About(on=(case.target(cause.team, cause.agent),))

    def sent(self, case: Case) -> About:
        """A message that was typed into an agent."""
        message = str(case.request.path_params["message"])
        receipt = self._sends.receipt(message)
        if not case.asking.sees(receipt.team, receipt.agent):
            raise sends.no_receipt(message)
        return About(on=(case.target(receipt.team, receipt.agent),))

    def offer(self, case: Case) -> About:
        """What was offered to an agent's hook. Whose it was counts as long as it is made."""
        key = self._notices.offered_to(case.text("receipt"))
        return own(case) if key is None else About(on=(case.target(*key),))

    def merge(self, case: Case) -> About:
        """The merges of a team: also of one that is down, if some of it wait."""
        try:
            return team(case)
        except NotFoundError:
            named, waiting = case.text("team"), self._merges.teams_that_wait()
            down = [one for one in waiting if one not in case.everything.teams and case.asking.sees(one)]
            if named not in down and (named or len(down) != 1):
                raise
            found = named or down[0]
            return About(on=(case.target(found),), pins={"team": (found,)})

    def mailbox(self, case: Case) -> About:
        """The mailbox of an agent, or of the person who asks. An agent that names nobody means its own."""
        agent = case.text("agent")
        if not agent:
            return asking(case) if case.asking.who.agent else own(case)
        named, slash, name = agent.rpartition("/")
        of_team = named if slash else case.text("team")
        if of_team and self._msg.knows(f"{of_team}/{name}") and case.asking.sees(of_team, name):
            return of_agent(case, of_team, name)
        return of_agent(case, *find_agent(case.seen, team=of_team, agent=name, cwd=case.text("cwd")).key)

    def received(self, case: Case) -> About:
        """As `mailbox`, perhaps only what somebody wrote."""
        about, sender = self.mailbox(case), case.text("from")
        if not sender:
            return about
        meant = msg_parties.party(
            sender, sender=_party(case, about), team=lambda: _team(case, about), known=self._known(case)
        )
        return replace(about, pins={**about.pins, "from": (msg_parties.shown(meant),)})

    def writing(self, case: Case) -> About:
        """A message, from one mailbox to some: the sender is asked about, and the team of every agent that gets it."""
        about, order = self.mailbox(case), case.order(MessageBody)
        own_team = cache(lambda: _team(case, about))
        to = msg_parties.recipients(order.to, sender=_party(case, about), team=own_team, known=self._known(case))
        # An answer that names nobody goes to who wrote what it answers, however long ago that was allowed.
        told = to or self._answered(_party(case, about), order.reply_to)
        teams = {party.partition("/")[0]: None for party in told if "/" in party}
        read = msgspec.structs.replace(order, to=tuple(map(msg_parties.shown, to)))
        return About(on=(*about.on, *map(case.target, teams)), pins=about.pins, order=read)

    def _answered(self, party: str, reply_to: str) -> list[str]:
        """The sender of a message that the party got or sent."""
        return [self._msg.show(party, msg.number_of(reply_to)).sender] if reply_to else []

    def _known(self, case: Case) -> msg_parties.Known:
        agents = {
            team: {name: agent.declared_as or name for name, agent in case.seen.of_team(team).items()}
            for team in case.seen.teams
        }
        people = self._msg.people
        return msg_parties.Known(agents=agents, people=people, told=lambda: _told(case, people))


def _told(case: Case, people: frozenset[str]) -> frozenset[str]:
    """The people that the caller may know of: all, for who may list members; else who has a team that they see."""
    if case.asking.decision("member_ls", Target()).allow:
        return people
    return people & {case.asking.who.user, *(team.user for team in case.seen.teams.values())}


def _party(case: Case, about: About) -> str:
    on = about.on[0]
    return f"{on.team}/{on.agent}" if on.agent else case.asking.who.user


def _team(case: Case, about: About) -> str:
    return find_team(case.seen, name=case.text("team") or about.on[0].team, **case.whereabouts).name
