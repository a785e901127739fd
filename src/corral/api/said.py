"""What a request says of itself, for its entry in the audit trail: which one, whom, and how. Never what it brings.

The agent, team or person that it is about is in every entry. Which task, lease or token it names, in which mode
somebody joins, which role somebody gets: that is in its path, its query or its body, and here is what of it is told.
These are names, ids and switches. Texts, values, commands and what opens doors are not told, whoever sends them. What
a request is given, such as the id of what it made, its handler notes with the answer (`answers.json_noting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from starlette.requests import Request

from corral.api import requests
from corral.api.daemon_bodies import FixesBody
from corral.api.endpoint import Endpoint
from corral.api.inbox_bodies import AnswerBody
from corral.api.member_table import MemberBody
from corral.domain.audit_detail import named
from corral.domain.errors import WrongUseError
from corral.domain.policy import DRIVE, OBSERVE

#: Names that are those of secrets elsewhere, and would not be kept: here they are ids.
_IDS = frozenset({"token"})

#: Parameters of the query, by verb. Which values somebody looks at is not told: everybody reads their own entries, also
#: who may not know these keys any more.
_QUERY: Mapping[str, tuple[str, ...]] = {
    "broadcast": ("role",),
    "follow_topic": ("topic",),
    "get_port": ("name",),
    "hear_hook": ("event",),
    "join_session": ("mode",),
    "kill_process": ("grace",),
    "member_rm": ("force", "dry_run"),
    "policy_check": ("verb", "who", "on"),
    "publish": ("topic",),
    "read_topic": ("topic",),
    "remove_task": ("force",),
    "send": ("force",),
    "signal_process": ("signal",),
    "token_ls": ("user", "all"),
    "who_touched": ("path",),
}
_CHOSEN = ("agents", "all")
#: Fields of the body, by verb. Bodies of verbs that are not here are of no interest, or not looked at for this.
_BODY: Mapping[str, tuple[str, ...]] = {
    "acquire_lease": ("patterns", "shared"),
    "answer_entry": (),
    "change_values": ("puts", "drops"),
    "down": ("file", "grace", "discard"),
    "fail_task": ("final",),
    "fork": ("name",),
    "member_add": ("role", "of", "inherit", "dry_run"),
    "note_fixes": (),
    "pause": _CHOSEN,
    "register_hooks": ("directory", "remove"),
    "remove": (*_CHOSEN, "grace", "discard", "force"),
    "restart": (*_CHOSEN, "grace", "fresh"),
    "resume": _CHOSEN,
    "send_message": ("to", "reply_to"),
    "snooze_entry": ("seconds",),
    "steer_session": ("action", "person"),
    "stop": (*_CHOSEN, "grace"),
    "submit_merge": ("branch",),
    "take_lock": ("name",),
    "token_add": ("user", "expires"),
    "up": ("file", "agents", "restart_changed", "dry_run"),
    "wait_for_leases": ("patterns", "shared"),
}


def said(verb: str, request: Request, order: object = None) -> dict[str, object]:
    """What a request says, as far as it can be read. `order` is its body, if it was read (`order_of`)."""
    facts: dict[str, object] = {_told_as(name): value for name, value in request.path_params.items()}
    with suppress(WrongUseError):  # whoever answers says what is wrong with the query
        for name in _QUERY.get(verb, ()):
            _put(facts, _told_as(name), requests.text(request, name))
        if verb == "attach":
            facts["mode"] = OBSERVE if requests.flag(request, "read_only") else DRIVE
    if order is not None:
        for name in _BODY.get(verb, ()):
            _put(facts, name, getattr(order, name))
        more = _OTHERWISE.get(type(order))
        if more is not None:
            facts.update(more(order))
    return facts


def is_in_body(verb: str) -> bool:
    """Whether something is told that only the body says."""
    return verb in _BODY


async def order_of(request: Request, endpoint: Endpoint, most: int = requests.MAX_BODY) -> requests.Body | None:
    """The body, if something of it is told; its handler gets the same, and does not take it apart again.

    None for one that does not fit: its handler says so. One that cannot be read to its end raises.
    """
    kind = endpoint.body
    if not is_in_body(endpoint.handler) or not isinstance(kind, type):
        return None
    request.scope[requests.RAW] = await requests.raw_body(request, most)
    try:
        order: requests.Body = await requests.body(request, kind, most)
    except WrongUseError:
        return None
    request.scope[requests.ORDER] = order
    return order


def _told_as(name: str) -> str:
    return "id" if name in _IDS else name


def _put(facts: dict[str, object], name: str, value: object) -> None:
    """What says nothing is left out: no text, no list, a switch that is off."""
    if isinstance(value, list | tuple | dict):
        value = named(value)
    if value is None or value is False or value == "":
        return
    is_whole = isinstance(value, float) and value.is_integer()
    facts[name] = int(value) if is_whole else value  # type: ignore[call-overload]


def _of_member(order: MemberBody) -> Mapping[str, object]:
    """Who is to be in no team any more has the empty list; without one, teams stay as they are."""
    return {} if order.teams is None else {"teams": named(order.teams)}


def _of_answer(order: AnswerBody) -> Mapping[str, object]:
    """Yes, no, or which choice. What somebody wrote is none of the trail's business; that they did is."""
    return {"answer": order.say or (f"option {order.option}" if order.option else "words")}


def _of_fixes(order: FixesBody) -> Mapping[str, object]:
    return {"checks": named(list(dict.fromkeys(fix.check for fix in order.fixes)))}


#: Bodies of which something is told that is no field of theirs.
_OTHERWISE: Mapping[type, Callable[..., Mapping[str, object]]] = {
    MemberBody: _of_member,
    AnswerBody: _of_answer,
    FixesBody: _of_fixes,
}
