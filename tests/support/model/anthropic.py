"""`POST /v1/messages`, as Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.script import Asked, Say, Turn

PATH = "/v1/messages"
_USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}


def read(body: dict[str, Any]) -> Asked:
    """The request."""
    words, taken = "", 0
    results: list[str] = []
    for message in body["messages"]:
        parts = message["content"]
        if isinstance(parts, str):
            parts = [{"type": "text", "text": parts}]
        if message["role"] == "assistant":
            taken += 1
            continue
        results += [_text(part["content"]) for part in parts if part["type"] == "tool_result"]
        said = "\n".join(part["text"] for part in parts if part["type"] == "text")
        # What the agent adds of its own accord (a reminder) comes along with results, and is nobody's words.
        if said and not any(part["type"] == "tool_result" for part in parts):
            # Several in a row are one: the agent puts what it has to remind of behind what a person said.
            words, taken, results = said if taken else f"{words}\n{said}", 0, []
    return Asked(words, taken, results, [tool["name"] for tool in body.get("tools", [])])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def answer(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The whole message."""
    if isinstance(turn, Say):
        block: dict[str, Any] = {"type": "text", "text": turn.text}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number:06}", "name": turn.tool, "input": dict(turn.arguments)}
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": "end_turn" if isinstance(turn, Say) else "tool_use",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def stream(turn: Turn, body: dict[str, Any], number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The message as events: name and data."""
    message = answer(turn, body, number)
    (block,) = message["content"]
    begun = {**message, "content": [], "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": begun}
    if isinstance(turn, Say):
        opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": turn.text}
    else:
        opened = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": opened}
    yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}}
    yield "message_stop", {"type": "message_stop"}
