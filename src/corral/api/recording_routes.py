"""The routes of recordings."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, recording_answers, requests
from corral.domain.records import Agent
from corral.service.recordings import Recordings
from corral.service.resolve import find_agent
from corral.supervise.registry import Registry


class RecordingApi:
    """One method a route."""

    def __init__(self, registry: Registry, recordings: Recordings) -> None:
        self._registry = registry
        self._recordings = recordings

    async def list_recordings(self, request: Request) -> Response:
        agent = self._agent(request)
        listed = await self._recordings.listed(agent)
        return answers.json([recording_answers.recording(agent, shown) for shown in listed])

    async def read_recording(self, request: Request) -> Response:
        recording = request.path_params["recording"]
        pieces = await self._recordings.read(requests.caller(request), self._agent(request), recording)
        return answers.pieces(pieces)

    def _agent(self, request: Request) -> Agent:
        return find_agent(
            self._registry,
            team=requests.text(request, "team"),
            agent=requests.text(request, "agent"),
            cwd=requests.text(request, "cwd"),
        )
