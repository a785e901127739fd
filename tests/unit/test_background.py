"""Two that run side by side."""

import asyncio

import pytest

from corral.background import both


async def _after(turns: int, log: list[str], name: str, error: Exception | None = None) -> str:
    for _ in range(turns):
        await asyncio.sleep(0)
    log.append(name)
    if error is not None:
        raise error
    return name


def test_both_run_at_once_and_what_comes_of_them_is_in_their_order() -> None:
    log: list[str] = []
    assert asyncio.run(both(_after(5, log, "a"), _after(1, log, "b"))) == ("a", "b")
    assert log == ["b", "a"]


@pytest.mark.parametrize("failing", ["a", "b"])
def test_an_error_is_raised_when_the_other_is_over_too(failing: str) -> None:
    log: list[str] = []
    turns = {"a": 1, "b": 1} | {name: 5 for name in "ab" if name != failing}
    errors = {failing: ValueError(failing)}
    with pytest.raises(ValueError, match=failing):
        asyncio.run(both(*(_after(turns[name], log, name, errors.get(name)) for name in "ab")))
    assert sorted(log) == ["a", "b"]


def test_of_two_errors_the_first_ones_is_raised() -> None:
    log: list[str] = []
    with pytest.raises(ValueError, match="a"):
        asyncio.run(both(_after(5, log, "a", ValueError("a")), _after(1, log, "b", KeyError("b"))))
