"""`[audit]` of an instance's `config.toml`: whether there is an audit trail, and how it is kept. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.spec_durations import read_duration
from corral.domain.spec_problems import Problems
from corral.domain.spec_sizes import read_size
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table

_DAY = 86400.0
_SIZES = {"segment_size": (64 << 10, 1 << 30), "keep_size": (1 << 20, 1 << 44)}
_DURATIONS = {
    "segment_age": (60.0, 366 * _DAY),
    "keep_age": (_DAY, 36600 * _DAY),
    "checkpoint_every": (1.0, _DAY),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTerms:
    """How the audit trail is kept."""

    #: None: not said. Then a shared server has one, and others have none.
    enabled: bool | None = None
    #: A file of entries is closed when it has so many bytes, or its first entry is so many seconds old.
    segment_size: int = 16 << 20
    segment_age: float = 7 * _DAY
    #: The oldest files go when all together have more bytes, or when they are older. Two always stay.
    keep_size: int = 4 << 30
    keep_age: float = 400 * _DAY
    #: A checkpoint is signed after so many entries, and at most so many seconds after an entry.
    checkpoint_entries: int = 1000
    checkpoint_every: float = 60.0
    #: What each checkpoint is given to: a program, on its standard input; a directory, as a file of its own.
    checkpoint_command: tuple[str, ...] = ()
    checkpoint_directory: str = ""


DEFAULT_AUDIT_TERMS = AuditTerms()
_KEYS = (
    "enabled",
    *_SIZES,
    *_DURATIONS,
    "checkpoint_entries",
    "checkpoint_command",
    "checkpoint_directory",
)


def read_terms(file: str, text: str) -> AuditTerms:
    """The terms that the text of a `config.toml` sets. `BadSpecError` tells of all that is wrong below `[audit]`.

    Other tables of the file are for others to read.
    """
    problems = Problems(file, text)
    table = Table(problems, (), load(text, file)).table("audit", "[audit]")
    if table is None:
        problems.raise_if_any()
        return DEFAULT_AUDIT_TERMS
    table.only(_KEYS)
    terms = AuditTerms(
        enabled=table.take("enabled", bool, "enabled = true"),
        segment_size=_size(table, "segment_size", DEFAULT_AUDIT_TERMS.segment_size),
        segment_age=_duration(table, "segment_age", DEFAULT_AUDIT_TERMS.segment_age),
        keep_size=_size(table, "keep_size", DEFAULT_AUDIT_TERMS.keep_size),
        keep_age=_duration(table, "keep_age", DEFAULT_AUDIT_TERMS.keep_age),
        checkpoint_entries=_entries(table),
        checkpoint_every=_duration(table, "checkpoint_every", DEFAULT_AUDIT_TERMS.checkpoint_every),
        checkpoint_command=_command(table),
        checkpoint_directory=_directory(table),
    )
    problems.raise_if_any()
    return terms


def _size(table: Table, name: str, default: int) -> int:
    if name not in table.data:
        return default
    size, (least, most) = read_size(table, name, f'{name} = "64M"'), _SIZES[name]
    if size is None:
        return default
    if not least <= size <= most:
        table.wrong(name, "this is out of range", f'from {least} to {most} bytes, such as {name} = "64M"')
        return default
    return size


def _duration(table: Table, name: str, default: float) -> float:
    if name not in table.data:
        return default
    least, most = _DURATIONS[name]
    return read_duration(table, name, f'{name} = "7d"', least=least, most=most) or default


def _entries(table: Table) -> int:
    default = DEFAULT_AUDIT_TERMS.checkpoint_entries
    number = table.take("checkpoint_entries", int, "checkpoint_entries = 1000")
    if number is None or 1 <= number <= 1_000_000:
        return number or default
    table.wrong("checkpoint_entries", "this is out of range", "from 1 to 1000000")
    return default


def _command(table: Table) -> tuple[str, ...]:
    example = 'checkpoint_command = ["/usr/local/bin/keep-checkpoint"]'
    words = table.take("checkpoint_command", list, example) or []
    texts = tuple(word for word in words if isinstance(word, str))
    if len(texts) != len(words) or (texts and not texts[0].startswith("/")):
        table.wrong("checkpoint_command", "this must be words, the first an absolute path", f"such as {example}")
    return texts


def _directory(table: Table) -> str:
    example = 'checkpoint_directory = "/mnt/elsewhere/checkpoints"'
    path = table.take("checkpoint_directory", str, example) or ""
    if path and not path.startswith("/"):
        table.wrong("checkpoint_directory", "this must be an absolute path", f"such as {example}")
    return path
