"""The `[notify]` table of a `corral.toml`: how people are told of what they do not see."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from corral.domain.notices import NOTICE_KINDS
from corral.domain.notify import DEFAULT_NOTIFY, NOTIFY_FIELDS, Notify
from corral.domain.spec_problems import did_you_mean, one_of
from corral.domain.spec_table import Table

#: What other words there are for these keys.
ALIASES = {
    "beep": "bell", "sound": "bell", "terminal": "bell",
    "notify_send": "desktop", "popup": "desktop",
    "hook": "webhook", "post": "webhook", "url": "webhook", "web_hook": "webhook",
    "exec": "command", "program": "command", "run": "command", "script": "command",
    "about": "for", "events": "for", "kinds": "for", "on": "for", "when": "for",
}  # fmt: skip
_KIND_ALIASES = {
    "approval": "permission", "crash": "failed", "merge": "conflict", "error": "failed", "hung": "stuck",
    "alone": "unattended", "paused": "unattended", "expired": "lifetime", "expiring": "lifetime",
}  # fmt: skip
_LONGEST_URL, _MOST_WORDS, _LONGEST_WORD = 2000, 64, 4096
_WEBHOOK_EXAMPLE = 'webhook = "https://example.org/hook"'
_COMMAND_EXAMPLE = 'command = ["notify-me"]'
_FOR_EXAMPLE = 'for = ["permission", "failed"]'


def read_notify(root: Table, elsewhere: Mapping[str, str]) -> Notify:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("notify", "[notify] with desktop = true")
    if table is None:
        return DEFAULT_NOTIFY
    table.only(NOTIFY_FIELDS, ALIASES, elsewhere)
    bell, desktop = table.take("bell", bool, "bell = true"), table.take("desktop", bool, "desktop = true")
    return Notify(
        bell=DEFAULT_NOTIFY.bell if bell is None else bell,
        desktop=DEFAULT_NOTIFY.desktop if desktop is None else desktop,
        webhook=_webhook(table),
        command=_command(table),
        kinds=_kinds(table),
    )


def _webhook(table: Table) -> str:
    url = table.take("webhook", str, _WEBHOOK_EXAMPLE)
    if url is None:
        return ""
    # The value itself is not told: it may be a secret.
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        table.wrong("webhook", "this is no address that something can be posted to", f"such as {_WEBHOOK_EXAMPLE}")
        return ""
    return url


def _command(table: Table) -> tuple[str, ...]:
    said = table.take("command", list, _COMMAND_EXAMPLE)
    if said is None:
        return ()
    words = tuple(word for word in said if isinstance(word, str) and "\0" not in word and len(word) <= _LONGEST_WORD)
    if len(words) != len(said) or not words or not words[0] or len(words) > _MOST_WORDS:
        table.wrong("command", "this must be a program and its arguments, as strings", f"such as {_COMMAND_EXAMPLE}")
        return ()
    return words


def _kinds(table: Table) -> tuple[str, ...]:
    said = table.take("for", list, _FOR_EXAMPLE)
    if said is None:
        return DEFAULT_NOTIFY.kinds
    for word in said:
        if word not in NOTICE_KINDS:
            meant = did_you_mean(word, NOTICE_KINDS, _KIND_ALIASES) if isinstance(word, str) else None
            hint = f"did you mean '{meant}'? " if meant else ""
            table.wrong("for", f"{word!r} is nothing that people are told of", f"{hint}It is {one_of(NOTICE_KINDS)}")
            return DEFAULT_NOTIFY.kinds
    return tuple(kind for kind in NOTICE_KINDS if kind in said)
