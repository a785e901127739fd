"""Verbs that a host's own rules name and that no request has: such a rule never applies, and no engine minds. Pure.

Looked for in the text, where `input.verb` is compared with what is written out. A verb that comes from elsewhere, such
as a table, is not found that way: a test of the rule finds it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from corral.domain.policy import ATTACH, asked_as

#: Verbs about the set-up of a host begin so; there is no list of them.
_OF_HOST = "host_"
_TEXT = r'"([^"\\\n]*)"'
_COMPARED = re.compile(rf"\binput\.verb\s*[=!]=\s*{_TEXT}|{_TEXT}\s*[=!]=\s*input\.verb\b")
_AMONG = re.compile(r"\binput\.verb\s+in\s*[\[{]([^\]}]*)[\]}]")
#: What is neither a text nor code is passed over whole: a `#` within a text begins no comment.
_COMMENT = re.compile(rf"({_TEXT}|`[^`]*`)|#[^\n]*")


def strange_verbs(path: str, text: str, known: Collection[str]) -> Iterator[str]:
    """A sentence for each such verb of a file. `known` are the verbs that the tables of the policy have."""
    code = _COMMENT.sub(lambda found: found.group(1) or "", text)
    for place, verb in sorted(_named(code)):
        if verb in known or verb == ATTACH or verb.startswith(_OF_HOST):
            continue
        line = code.count("\n", 0, place) + 1
        one = asked_as(verb)
        why = f"is asked as {one}" if one != verb else "is the verb of no request"
        yield f"{path}:{line}: {verb or 'the empty text'} {why}, so this never applies"


def _named(code: str) -> Iterator[tuple[int, str]]:
    for found in _COMPARED.finditer(code):
        yield found.start(), found.group(1) if found.group(1) is not None else found.group(2)
    for among in _AMONG.finditer(code):
        for found in re.finditer(_TEXT, among.group(1)):
            yield among.start(1) + found.start(), found.group(1)
