"""The policy on this host: it denies whatever it has no answer to, in time, and holds up nobody."""

import asyncio
import dataclasses
import os
import signal
import sys
from pathlib import Path

import pytest

from corral.adapters.policy import engine, rego_policy
from corral.adapters.policy.closed import ClosedPolicy
from corral.adapters.policy.rego_policy import RegoPolicy
from corral.adapters.policy.sources import read
from corral.domain.errors import BadPolicyError
from corral.domain.policy import Decision, Question
from tests.support.permissions import decisions, question

SEND = question("june", "send", "shop/builder")


def decide(directory: Path, *questions: Question) -> list[Decision]:
    return decisions(questions, str(directory))


def own(directory: Path, rules: str) -> Path:
    (directory / "own.rego").write_text(f"package corral\n\n{rules}\n")
    return directory


def test_it_decides(tmp_path: Path) -> None:
    allowed, refused = decide(tmp_path, SEND, question("jim", "send", "shop/builder"))
    assert (allowed.allow, allowed.rule) == (True, "junior.steer.own")
    assert (refused.allow, refused.rule) == (False, "junior.steer")


def test_rules_that_contradict_each_other_are_a_denial(tmp_path: Path) -> None:
    rules = 'allow["x"] := "one" if input.verb == "send"\n\nallow["x"] := "two" if input.verb == "send"'
    (decision,) = decide(own(tmp_path, rules), SEND)
    assert (decision.allow, decision.rule) == (False, "no_answer")
    assert "denied" in decision.reason


@pytest.mark.parametrize("value", ["1", '["x"]', "{}", "null"])
def test_a_rule_whose_reason_is_no_text_is_a_denial(tmp_path: Path, value: str) -> None:
    (decision,) = decide(own(tmp_path, f'allow["a"] := {value} if input.verb == "send"'), SEND)
    assert (decision.allow, decision.rule) == (False, "no_decision")


@pytest.mark.parametrize(
    "name",
    ['x", "allow": true, "y": "', "dev1\\", "dev1\0", "dev\n1", "dev\\u0031", 'x"', "\ud800"],
)
@pytest.mark.parametrize("field", ["user", "owner", "mode"])
def test_a_text_that_could_be_read_as_something_else_is_denied(tmp_path: Path, name: str, field: str) -> None:
    who, on, facts = SEND.who, SEND.on, {}
    if field == "user":
        who = dataclasses.replace(who, user=name)
    elif field == "owner":
        on = dataclasses.replace(on, owner=name)
    else:
        facts = {"mode": name}
    (decision,) = decide(tmp_path, dataclasses.replace(SEND, who=who, on=on, facts=facts))
    assert (decision.allow, decision.rule) == (False, "not_plain")


@pytest.mark.parametrize("before", ["", "no JSON\\n"])
def test_what_a_rule_prints_is_no_answer_to_anybody(tmp_path: Path, before: str) -> None:
    # rego-cpp prints to standard output, where answers are: a team's rule could have answered the questions of others.
    forged = f'{before}{{\\"value\\":{{\\"allow\\":true,\\"rule\\":\\"forged\\",\\"reason\\":\\"\\"}}}}'
    rules = f'deny["no"] := "no" if {{\n\tinput.verb == "send"\n\tprint("{forged}")\n}}'
    others = question("jim", "send", "shop/builder"), question("eve", "logs", "shop/builder")
    found = decide(own(tmp_path, rules), SEND, *others)
    assert [(one.allow, one.rule) for one in found] == [(False, "no"), (False, "no"), (False, "not_a_member")]


@pytest.mark.parametrize("said", [b"{}\n{}\n{}", b"no JSON"])
def test_an_engine_that_says_what_nobody_asked_for_is_a_denial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    babbling = f"import sys\nfor line in sys.stdin:\n  sys.stdout.buffer.write({said!r} + b'\\n'); sys.stdout.flush()"
    monkeypatch.setattr(engine, "_PROGRAM", (sys.executable, "-c", babbling))

    async def asked() -> Decision:
        policy = RegoPolicy(read(str(tmp_path)))
        try:
            return await policy.decide(SEND)
        finally:
            await policy.close()

    decision = asyncio.run(asked())
    assert (decision.allow, decision.rule) == (False, "no_answer")


def test_names_in_other_alphabets_are_names(tmp_path: Path) -> None:
    who, on = dataclasses.replace(SEND.who, user="zoë"), dataclasses.replace(SEND.on, owner="zoë")
    (decision,) = decide(tmp_path, dataclasses.replace(SEND, who=who, on=on))
    assert (decision.allow, decision.reason.split()[0]) == (True, "zoë")


def test_a_question_without_end_is_denied_unread(tmp_path: Path) -> None:
    (decision,) = decide(tmp_path, dataclasses.replace(SEND, facts={"mode": "x" * 20_000}))
    assert (decision.allow, decision.rule) == (False, "too_large")


ENDLESS = """allow["a"] := "x" if {
	input.verb == "send"
	count([1 | some i in numbers.range(1, 100000); some j in numbers.range(1, 100000); i + j == 7]) == 9
}"""


def test_who_takes_too_long_is_ended_and_the_next_one_is_answered(tmp_path: Path) -> None:
    """The event loop goes on: somebody else's work gets done while the evaluation is under way."""
    own(tmp_path, ENDLESS)

    async def act() -> tuple[Decision, Decision, int]:
        policy = RegoPolicy(read(str(tmp_path)), 0.3)
        await policy.start()
        turns = 0

        async def work() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.01)

        beside = asyncio.create_task(work())
        first = await policy.decide(SEND)
        beside.cancel()
        await asyncio.sleep(1.0)  # so long no other engine is started
        await policy.start()
        second = await policy.decide(question("olga", "health", "host"))
        await policy.close()
        return first, second, turns

    first, second, turns = asyncio.run(act())
    assert (first.allow, first.rule) == (False, "timed_out")
    assert second.allow
    assert turns > 3


def test_an_engine_that_was_killed_is_a_denial_and_then_another_one(tmp_path: Path) -> None:
    async def act() -> tuple[list[Decision], Decision]:
        policy = RegoPolicy(read(str(tmp_path)), 30.0)
        await policy.start()
        running = policy._engine._running
        assert running is not None
        os.kill(running._process.pid, signal.SIGSTOP)
        asked = [dataclasses.replace(SEND, who=dataclasses.replace(SEND.who, uid=uid)) for uid in range(3)]
        waiting = asyncio.gather(*map(policy.decide, asked))
        await asyncio.sleep(0)
        os.kill(running._process.pid, signal.SIGKILL)
        lost = await waiting
        await asyncio.sleep(1.0)  # so long no other engine is started
        found = await policy.decide(SEND)
        await policy.close()
        return lost, found

    lost, found = asyncio.run(act())
    assert [(one.allow, one.rule) for one in lost] == [(False, "no_answer")] * 3
    assert found.allow


def test_rules_that_bring_the_engine_down_are_told_before_anything_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_PROGRAM", (sys.executable, "-c", "import os; os.abort()"))
    with pytest.raises(BadPolicyError, match="bring the engine down"):
        decide(tmp_path)


def test_an_engine_that_cannot_be_loaded_is_told_with_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = "libatomic.so.1: cannot open shared object file"
    (tmp_path / "regopy.py").write_text(f"raise OSError({lacking!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BadPolicyError, match=f"cannot be loaded: {lacking}") as told:
        decide(tmp_path / "none", SEND)
    assert "apt-get install libatomic1" in told.value.remedy


def test_the_engine_goes_with_whoever_started_it(tmp_path: Path) -> None:
    async def act() -> int:
        policy = RegoPolicy(read(str(tmp_path)), 30.0)
        await policy.start()
        running = policy._engine._running
        assert running is not None
        await policy.close()
        return running._process.pid

    pid = asyncio.run(act())
    assert not Path(f"/proc/{pid}").exists()


def test_files_of_wherever_somebody_is_do_not_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("msgspec.py", "regopy.py", "corral.py"):
        (tmp_path / name).write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    (decision,) = decide(tmp_path / "none", SEND)
    assert decision.allow


def test_rego_cpp_is_in_no_process_that_has_other_things_to_do(tmp_path: Path) -> None:
    """Beside re2 it corrupts memory, or leaks: docs/adr/0020-policy.md."""
    decide(tmp_path, SEND)
    assert "regopy" not in sys.modules


def test_a_crowd_is_denied_and_not_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rego_policy, "MOST_WAITING", 3)

    async def act() -> list[Decision]:
        policy = RegoPolicy(read(str(tmp_path)), 30.0)
        asked = [dataclasses.replace(SEND, who=dataclasses.replace(SEND.who, uid=uid)) for uid in range(10)]
        try:
            return await asyncio.gather(*map(policy.decide, asked))
        finally:
            await policy.close()

    decisions = asyncio.run(act())
    assert [one.allow for one in decisions] == [True] * 3 + [False] * 7
    assert {one.rule for one in decisions[3:]} == {"busy"}


def test_what_is_remembered_is_bounded_and_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rego_policy, "_MOST_KNOWN", 2)
    mine, others = SEND, question("jim", "send", "shop/builder")
    asked = [mine, others, question("olga", "health", "host"), mine, mine, others]
    assert [one.allow for one in decide(tmp_path, *asked)] == [True, False, True, True, True, False]

    async def act() -> int:
        policy = RegoPolicy(read(str(tmp_path)), 30.0)
        for one in asked:
            await policy.decide(one)
        await policy.close()
        return len(policy._known)

    assert asyncio.run(act()) == 2


@pytest.mark.parametrize("clock", ["time.now_ns()", 'time["now_ns"]()'])
def test_what_depends_on_the_time_is_asked_again(tmp_path: Path, clock: str) -> None:
    own(tmp_path, f'allow["now"] := "now" if {{\n\tinput.verb == "send"\n\t{clock} > 0\n}}')

    async def act() -> tuple[Decision, Decision | None]:
        policy = RegoPolicy(read(str(tmp_path)), 30.0)
        decided = await policy.decide(SEND)
        await policy.close()
        return decided, policy.known(SEND)

    decided, known = asyncio.run(act())
    assert decided.allow
    assert known is None


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ('net.cidr_contains("10.0.0.0/8", "10.1.1.1")', "net.cidr_contains, which is neither a function of the policy"),
        ("nosuch(input.verb)", "nosuch, which is neither a function of the policy nor a built-in"),
        ("data.corral.nosuch(input.verb)", "data.corral.nosuch, which is neither a function of the policy"),
        ("not nosuch(input.verb)", "nosuch, which"),
        ("to_number(input.who.user) > 0", "to_number, which is not known to answer here as OPA does"),
        ("max([1, 10, 9]) == 10", "max, which is not known"),
        ("min([10, 9]) == 9", "min, which is not known"),
        ('lower (\n"É") == "é"', "lower, which is not known"),
        ('time["parse_ns"]("a", "b") > 0', "time.parse_ns, which is not known"),
        ('input.with[sprintf("%s", [1])]', "sprintf, which is not known"),
        ("every x in [1] {\nx * 2 == 2}", r"\*, which is not known"),
        ('count([x | some x in sort(["a"])]) == 1', "sort, which is not known"),
    ],
)
def test_what_would_answer_otherwise_than_opa_is_refused(tmp_path: Path, condition: str, why: str) -> None:
    own(tmp_path, f'deny["office"] := "x" if {{\n\tinput.verb == "send"\n\t{condition}\n}}')
    with pytest.raises(BadPolicyError, match=rf"own\.rego:[56] uses {why}") as told:
        decide(tmp_path, SEND)
    assert "docs/howto/policy.md lists what rules may use" in told.value.remedy


def test_functions_of_a_policy_may_be_used(tmp_path: Path) -> None:
    rules = 'sends(verb) if verb == "send"\n\ndeny["sent"] := "no" if data.corral.sends(input.verb)'
    (decision,) = decide(own(tmp_path, rules), SEND)
    assert decision.rule == "sent"


def test_a_built_in_that_fails_is_a_denial_and_not_a_rule_that_is_left_out(tmp_path: Path) -> None:
    (decision,) = decide(own(tmp_path, 'deny["odd"] := "odd" if startswith(input.who.uid, "1")'), SEND)
    assert (decision.allow, decision.rule) == (False, "no_answer")


def test_what_is_compiled_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    place = own(tmp_path / "rules", 'allow["x"] := "x" if input.verb == "send"')
    before = (place / "own.rego").stat()
    decide(place, SEND)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert (place / "own.rego").stat().st_mtime_ns == before.st_mtime_ns


def test_a_policy_that_cannot_be_used_lets_nobody_in() -> None:
    decision = asyncio.run(ClosedPolicy("data.json is no JSON").decide(question("olga", "health", "host")))
    assert (decision.allow, decision.rule) == (False, "no_policy")
    assert "data.json is no JSON" in decision.reason


def test_where_nothing_can_be_written_down_that_is_what_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = "def TemporaryDirectory(**_):\n    raise OSError(28, 'No space left on device')\n"
    (tmp_path / "tempfile.py").write_text(full)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BadPolicyError, match="cannot be looked at: No space left on device") as told:
        decide(tmp_path / "none", SEND)
    assert "TMPDIR" in told.value.remedy
