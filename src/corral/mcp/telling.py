"""What descriptions and schemas of tools are made of."""

from __future__ import annotations

from collections.abc import Mapping

Schema = dict[str, object]


def told(text: str) -> str:
    """Paragraphs, each on one line: a model needs no line of a hundred letters."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def field(kind: str | list[str], about: str) -> Schema:
    """A field of an answer."""
    return {"type": kind, "description": about}


def record(fields: Mapping[str, Schema], *optional: str) -> Schema:
    """An answer. All of its fields are always there, but for those that are named as optional."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": [name for name in fields if name not in optional],
    }


def listing(one: Schema, about: str) -> Schema:
    """A field that is a list."""
    return {"type": "array", "items": one, "description": about}
