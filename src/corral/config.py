"""What whoever runs an instance configures: `config.toml`, which nobody has to have. Each table has a rule of its own.

It is the daemon that reads it, when it starts.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from corral.domain.audit_terms import DEFAULT_AUDIT_TERMS, AuditTerms, read_terms
from corral.domain.errors import CorralError, RefusedError
from corral.domain.policy_settings import PolicySettings, settings_of
from corral.domain.recording import RecordingTerms, default_terms
from corral.domain.recording_terms import read_terms as read_recording_terms
from corral.domain.spec_problems import Problems
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table
from corral.domain.spec_text import MAX_BYTES, decode
from corral.places import Places

if TYPE_CHECKING:
    from corral.domain.identity_terms import IdentityTerms
    from corral.domain.listen_settings import ListenSettings

_TABLES = ("audit", "identity", "listen", "policy", "recording")


def audit_terms(places: Places) -> AuditTerms:
    """What is configured of the audit trail; `BadSpecError` if that cannot be."""
    text = _text(places)
    return DEFAULT_AUDIT_TERMS if text is None else read_terms(places.config_file, text)


def listen_settings(places: Places) -> ListenSettings | None:
    """Where to listen besides the socket; None if nowhere. `BadSpecError` if that cannot be."""
    text = _text(places)
    if text is None:
        return None
    from corral.domain.listen_settings import read_listen

    return read_listen(places.config_file, text)


def recording_terms(places: Places, *, shared: bool) -> RecordingTerms:
    """What is configured of recordings; `BadSpecError` if that cannot be."""
    text = _text(places)
    if text is None:
        return default_terms(shared=shared)
    return read_recording_terms(places.config_file, text, shared=shared)


def policy_settings(places: Places) -> PolicySettings:
    """What is configured of the policy; `BadPolicyError` or `BadSpecError` if that cannot be."""
    text = _text(places)
    return PolicySettings() if text is None else settings_of(load(text, places.config_file), places.config_file)


def identity_terms(places: Places) -> IdentityTerms:
    """What is configured of who is taken for whom on a shared server; `BadSpecError` if that cannot be."""
    # An instance of one person does without.
    from corral.domain.identity_terms import IdentityTerms, read_identity_terms

    text = _text(places)
    return IdentityTerms() if text is None else read_identity_terms(places.config_file, text)


def problem_of(places: Places) -> CorralError | None:
    """Why the daemon of a shared server could not start with what is configured; None if it could."""
    try:
        for read in (audit_terms, listen_settings, policy_settings, identity_terms):
            read(places)
        recording_terms(places, shared=True)
    except CorralError as error:
        return error
    return None


def _text(places: Places) -> str | None:
    """The text of the file; None if there is none. `RefusedError` if others could have written it."""
    path = places.config_file
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    if info.st_uid not in places.writers or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise RefusedError(
            f"{path} could have been written by others (uid {info.st_uid}, mode {stat.S_IMODE(info.st_mode):04o})",
            f"look what it says, then: chown {max(places.writers)} {path}; chmod go-w {path}",
        )
    text = decode(data, path)
    _refuse_unknown_tables(path, text)
    return text


def _refuse_unknown_tables(path: str, text: str) -> None:
    """One that is misspelt would be read by nobody: what it says would hold for nothing, without a word."""
    problems = Problems(path, text)
    Table(problems, (), load(text, path)).only(_TABLES)
    problems.raise_if_any()
