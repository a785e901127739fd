"""The routes of topics."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, topic_answers
from corral.api.process_routes import while_heard
from corral.domain.records import Team
from corral.domain.topics import check_name
from corral.service.resolve import find_team
from corral.service.topics import MOST_AT_ONCE, MOST_BYTES, Limits, Topics
from corral.supervise.registry import Registry


class TopicApi:
    """One method a route."""

    def __init__(self, registry: Registry, topics: Topics) -> None:
        self._registry = registry
        self._topics = topics

    async def publish(self, request: Request) -> Response:
        data = await requests.raw_body(request)
        team, topic = self._named(request)
        revision = await self._topics.publish(requests.caller(request), team, topic, data)
        return answers.json(topic_answers.Appended(revision=revision))

    async def read_topic(self, request: Request) -> Response:
        team, topic = self._named(request)
        entries, size = requests.whole_number(request, "limit"), requests.whole_number(request, "bytes")
        limits = Limits(
            entries=MOST_AT_ONCE if entries is None else entries,
            bytes=MOST_BYTES if size is None else min(size, MOST_BYTES),
        )
        after, wait = requests.whole_number(request, "after"), requests.number(request, "wait") or 0.0
        page = await while_heard(request, self._topics.read(team, topic, after, limits, wait))
        return answers.json(topic_answers.page(topic, page))

    async def follow_topic(self, request: Request) -> Response:
        team, topic = self._named(request)
        entries = self._topics.follow(team, topic, requests.whole_number(request, "after"))

        async def told() -> AsyncIterator[topic_answers.Entry]:
            async for one in entries:
                yield topic_answers.entry(topic, one)

        return answers.lines(told())

    def _named(self, request: Request) -> tuple[Team, str]:
        topic = requests.text(request, "topic")
        check_name(topic)  # before the stream begins: then it is told by the status
        team = find_team(self._registry, name=requests.text(request, "team"), **requests.whereabouts(request))
        return team, topic
