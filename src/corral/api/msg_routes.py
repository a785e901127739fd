"""The routes of messages."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, msg_answers, requests
from corral.api.msg_requests import AckBody, MessageBody
from corral.api.process_routes import while_heard
from corral.domain.errors import WrongUseError
from corral.domain.msg import ACKED, READ, Message, number_of
from corral.service.msg import Msg

DEFAULT_LIMIT, MOST_LISTED = 100, 1000


class MsgApi:
    """One method a route."""

    def __init__(self, msg: Msg) -> None:
        self._msg = msg

    async def send_message(self, request: Request) -> Response:
        order = await requests.body(request, MessageBody)
        sender, reply_to = self._caller(request), number_of(order.reply_to) if order.reply_to else 0
        to = self._msg.recipients(order.to, sender=sender, **_where(request))
        who = requests.caller(request)
        message = await self._msg.send(
            who, sender, to, order.text, subject=order.subject, reply_to=reply_to, key=order.key
        )
        answer = msg_answers.sent(message, self._msg.deliveries(message))
        return answers.json_of_several(answer, message)

    async def list_inbox(self, request: Request) -> Response:
        party, sender = self._caller(request), requests.text(request, "from")
        limit, wait = _limit(request), requests.number(request, "wait") or 0.0
        only = self._msg.party(sender, asking=party, **_where(request)) if sender else None
        found = await while_heard(request, self._msg.inbox(party, sender=only, wait=wait))
        return answers.json(
            msg_answers.Inbox(
                messages=[msg_answers.received(message, delivery) for message, delivery in found[:limit]],
                unread=sum(delivery.state not in (READ, ACKED) for _, delivery in found),
                unacked=len(found),
            )
        )

    async def list_sent(self, request: Request) -> Response:
        found = self._msg.sent(self._caller(request))[-_limit(request) :]
        return answers.json(
            msg_answers.SentMessages(
                messages=[msg_answers.sent_message(message, self._msg.deliveries(message)) for message in found]
            )
        )

    async def show_message(self, request: Request) -> Response:
        return self._whole(self._msg.show(self._caller(request), _number(request)))

    async def read_message(self, request: Request) -> Response:
        return self._whole(await self._msg.read(requests.caller(request), self._caller(request), _number(request)))

    async def ack_message(self, request: Request) -> Response:
        note = (await requests.body(request, AckBody)).note
        message = await self._msg.ack(requests.caller(request), self._caller(request), _number(request), note)
        return answers.json(msg_answers.sent(message, self._msg.deliveries(message)))

    def _whole(self, message: Message) -> Response:
        return answers.json(msg_answers.whole(message, self._msg.deliveries(message)))

    def _caller(self, request: Request) -> str:
        agent = requests.text(request, "agent")
        return self._msg.caller(
            requests.caller(request), agent=agent, team=_team(request), cwd=requests.text(request, "cwd")
        )


def _team(request: Request) -> str:
    return requests.text(request, "team")


def _where(request: Request) -> dict[str, str]:
    return {"team": _team(request), **requests.whereabouts(request)}


def _number(request: Request) -> int:
    return number_of(request.path_params["message"])


def _limit(request: Request) -> int:
    limit = requests.whole_number(request, "limit")
    if limit is None:
        return DEFAULT_LIMIT
    if not 1 <= limit <= MOST_LISTED:
        raise WrongUseError(f"limit={limit}: 1 to {MOST_LISTED} are possible")
    return limit
