"""What a command in the foreground makes of answers to what it writes."""

import json
from typing import Any, cast

import pytest

from corral.cli.proc_attention import Attention
from corral.client.wire import Response
from corral.domain.errors import DeniedError


class Refused:
    """A write that the daemon has refused."""

    over = True

    def __init__(self, code: str) -> None:
        self.code = code

    def receive(self) -> None:
        """It is there already."""

    def close(self) -> None:
        """Nothing is open."""

    def response(self) -> Response:
        error = {"code": self.code, "message": "ann may not", "remedy": "ask"}
        return Response(403, {}, json.dumps({"error": error}).encode())


def attention() -> Attention:
    return Attention(cast(Any, None), "p1", seconds=None, feeds=True, raw=False)


def test_who_may_not_type_any_more_is_told_and_not_left_to_wait() -> None:
    with attention() as there, pytest.raises(DeniedError, match="ann may not"):
        there._written(cast(Any, Refused("denied")))


def test_that_a_process_reads_no_more_is_its_own_affair() -> None:
    with attention() as there:
        there._written(cast(Any, Refused("refused")))
        assert there._source is None
