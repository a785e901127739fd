"""What an entry says, what may go into one, how it is written elsewhere, and how a trail is configured."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain import audit, audit_export
from corral.domain.audit import GENESIS, LONGEST_LINE, Actor, Entry, Note, Target
from corral.domain.audit_detail import (
    MOST_BYTES,
    NOT_KEPT,
    bounded,
    bounded_actor,
    bounded_target,
    field_text,
    named,
)
from corral.domain.audit_filter import Wanted
from corral.domain.audit_terms import AuditTerms, read_terms
from corral.domain.errors import BadSpecError
from tests.support.audit import ANN, note

_ANY = st.text(st.characters(codec=None))


def _entry(said: Note) -> Entry:
    line, _ = audit.sealed(7, said, GENESIS)
    found = audit.read(line[:-1])
    assert not isinstance(found, str)
    return found


def test_the_hash_is_that_of_the_canonical_bytes() -> None:
    line, digest = audit.sealed(7, note(1), GENESIS)
    assert digest == hashlib.sha256(audit.canonical(7, note(1), GENESIS)).hexdigest()
    assert json.loads(line)["hash"] == digest
    assert json.loads(line)["previous"] == GENESIS


@given(user=_ANY, agent=_ANY, verb=_ANY, facts=st.dictionaries(_ANY, st.one_of(_ANY, st.integers(), st.none())))
def test_whatever_is_in_it_an_entry_is_one_short_line_that_reads_as_it_was(
    user: str, agent: str, verb: str, facts: dict[str, object]
) -> None:
    said = Note(
        time="2026-11-16T09:16:09.000Z",
        who=bounded_actor(Actor(uid=1, user=user, agent=agent)),
        verb=field_text(verb),
        on=bounded_target(Target(team=user, agent=agent)),
        allowed=True,
        detail=bounded(facts),
    )
    line, digest = audit.sealed(1, said, GENESIS)
    assert line.count(b"\n") == 1
    assert len(line) <= LONGEST_LINE
    spelled = json.dumps(audit.as_object(_entry(said)), separators=(",", ":")).encode() + b"\n"
    assert spelled == audit.sealed(7, said, GENESIS)[0]
    assert audit.read(line[:-1]) == Entry(number=1, note=said, previous=GENESIS, hash=digest)
    assert audit.from_object(audit.as_object(_entry(said))) == _entry(said)


@pytest.mark.parametrize("name", ["token", "api_key", "sessionToken", "PASSWORD", "env", "prompt", "text", "argv"])
def test_what_has_the_name_of_a_secret_is_not_kept(name: str) -> None:
    assert bounded({name: "hunter2"}) == {name: NOT_KEPT}


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "a1b2" * 8,
        "ghp_abcdefghijklmnopqrstuvwxyz012345",
        "AKIAIOSFODNN7EXAMPLE",
        "Bearer abcdef0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nxyz",
        "password=hunter22",
    ],
)
def test_what_looks_like_a_secret_is_struck_out(secret: str) -> None:
    kept = bounded({"why": f"it said {secret}"})["why"]
    assert isinstance(kept, str)
    assert kept.startswith("it said ")
    assert NOT_KEPT in kept
    assert secret[-8:] not in kept
    assert secret[-8:] not in field_text(secret)


def test_the_address_of_a_remote_stays_without_its_password() -> None:
    assert bounded({"remote": "https://ann:hunter2@git.example/x"}) == {"remote": f"https://{NOT_KEPT}@git.example/x"}


def test_facts_are_few_and_short() -> None:
    kept = bounded({f"fact-{number}": "ü" * 500 for number in range(100)})
    assert len(json.dumps(kept)) < MOST_BYTES + 500
    assert kept["left_out"] == 100 - (len(kept) - 1)
    assert bounded({"agents": ["a", "b"], "n": 10**40, "f": 0.5}) == {
        "agents": "(2 of them)",
        "n": f"(a number of {(10**40).bit_length()} bits)",
        "f": "0.5",
    }


def test_a_line_of_syslog_is_one_line_whatever_is_in_it() -> None:
    said = note(2, who=Actor(uid=7, user='x"]\\', agent="a\nb\x1b[31m"), outcome="404")
    line = audit_export.syslog(_entry(said), "host name").decode()
    assert line.count("\n") == 1
    assert line.isprintable() is False  # for its end alone
    assert line[:-1].isprintable()
    assert line.startswith("<109>1 ")
    assert " host_name corral-audit - send [corral@32473 " in line
    assert 'user="x\\"\\]\\\\"' in line


def test_journald_is_told_how_long_what_may_hold_a_line_end_is() -> None:
    data = audit_export.journald(_entry(note(2, who=Actor(uid=7, user="x", agent="a\nPRIORITY=0"))), "host")
    assert data.startswith(b"__REALTIME_TIMESTAMP=1800000002000000\n")
    assert data.endswith(b"\n\n")
    assert b"\nCORRAL_AGENT\n" + (12).to_bytes(8, "little") + b"a\nPRIORITY=0\n" in data
    assert b"\nMESSAGE\n" in data, "which names the agent too"


_DETAIL = {"user": "dev2", "role": "owner", "dry_run": False, "id": 7, "before": None, 'öd ]="x': 'a"]\nb', "Role": "x"}


def test_facts_are_exported_as_well() -> None:
    entry = _entry(note(2, verb="member_add", outcome="200", detail=_DETAIL))
    line = audit_export.syslog(entry, "host").decode()
    parameters = line.partition(" [corral@32473 ")[2]
    for parameter in (
        'detail_user="dev2"',
        'detail_role="owner, x"',
        'detail_dry_run="false"',
        'detail_id="7"',
        'detail_before="null"',
        'detail__d____x="a\\"\\]<000a>b"',
    ):
        assert f" {parameter}" in parameters
    assert line[:-1].isprintable()
    assert "outcome 200 (user dev2, role owner, dry_run false, id 7, before null, " in audit_export.sentence(entry)
    fields = audit_export.journald(entry, "host")
    for field in (b"USER=dev2", b"ROLE=owner, x", b"DRY_RUN=false", b"ID=7", b"BEFORE=null"):
        assert b"\nCORRAL_DETAIL_" + field + b"\n" in fields
    assert b"\nCORRAL_DETAIL__D____X\n" + (5).to_bytes(8, "little") + b'a"]\nb\n' in fields


def test_the_name_of_a_fact_is_no_longer_than_a_log_takes() -> None:
    line = audit_export.syslog(_entry(note(2, detail={"n" * 40: 1})), "host").decode()
    name = line.partition(" detail_")[2].partition("=")[0]
    assert len(f"detail_{name}") == 32


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (Wanted(), True),
        (Wanted(who="ann"), True),
        (Wanted(who="1001"), True),
        (Wanted(who="1002"), False),
        (Wanted(agent="api"), True),
        (Wanted(agent="shop/docs"), True),
        (Wanted(agent="other/docs"), False),
        (Wanted(verbs=["st*", "se?d"]), True),
        (Wanted(verbs=["stop"]), False),
        (Wanted(denied=True), False),
        (Wanted(since="2027-01-15T08:00:01.000Z"), True),
        (Wanted(since="2027-01-15T08:00:02.000Z"), False),
        (Wanted(until="2027-01-15T08:00:01.000Z"), False),
    ],
)
def test_what_is_asked_for(wanted: Wanted, fits: bool) -> None:
    said = note(1)
    assert (said.time, said.who) == ("2027-01-15T08:00:01.000Z", ANN)
    assert wanted.fits(_entry(said)) is fits


@pytest.mark.parametrize("written", ["attach", "join_session"])
@pytest.mark.parametrize("wanted", ["attach", "join_session", "att*", "*session"])
def test_joining_a_terminal_is_found_by_either_of_its_names(wanted: str, written: str) -> None:
    assert Wanted(verbs=[wanted]).fits(_entry(note(1, verb=written)))
    assert not Wanted(verbs=[wanted]).fits(_entry(note(1, verb="send")))


def test_a_trail_is_configured_by_its_table_alone() -> None:
    text = '[policy]\nurl = "x"\n[audit]\nenabled = true\nsegment_size = "1M"\nkeep_age = "30d"\n'
    assert read_terms("config.toml", text) == AuditTerms(enabled=True, segment_size=1 << 20, keep_age=30 * 86400.0)
    assert read_terms("config.toml", "") == AuditTerms()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("enable = true", "there is no such key"),
        ("enabled = 1", "must be a boolean"),
        ('segment_size = "1K"', "out of range"),
        ("checkpoint_entries = 0", "out of range"),
        ('checkpoint_command = ["keep"]', "absolute path"),
        ('checkpoint_directory = "kept"', "absolute path"),
        ("enabled = ", "nvalid value"),
    ],
)
def test_every_mistake_is_told_with_its_line(line: str, said: str) -> None:
    with pytest.raises(BadSpecError, match=r"config\.toml:2") as told:
        read_terms("config.toml", f"[audit]\n{line}\n")
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("agent", "wanted"), [("shop/web", True), ("web", True), ("toys/z", True), ("toys/web", False), ("we", False)]
)
def test_mail_is_found_under_whom_it_was_sent_to(agent: str, wanted: bool) -> None:
    sent = note(1, on=Target(kind="agent", team="shop", agent="api"), detail={"to": "web, toys/z, @ann"})
    entry = Entry(number=1, note=sent, previous=GENESIS, hash=GENESIS)
    assert Wanted(agent=agent).fits(entry) is wanted


def test_it_is_found_under_each_that_is_named_of_many() -> None:
    to = named([f"a{number}" for number in range(14)])
    sent = note(1, on=Target(kind="agent", team="shop", agent="api"), detail={"to": to})
    entry = Entry(number=1, note=sent, previous=GENESIS, hash=GENESIS)
    assert [Wanted(agent=f"a{number}").fits(entry) for number in (0, 9, 10)] == [True, True, False]
