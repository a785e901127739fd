"""A large team is started part by part: nobody is left out, nobody comes twice, and the order stays."""

from itertools import chain
from typing import Any, cast

import pytest

from corral.supervise import launching

_SIZES = (
    0,
    1,
    launching._FEW,
    launching._FEW + 1,
    launching._FIRST_PART + launching._FEW,
    launching._FIRST_PART + launching._FEW + 1,
    launching._FIRST_PART + launching._PART + launching._LAST_PART,
    500,
)


@pytest.mark.parametrize("count", _SIZES)
def test_everybody_is_in_one_part_and_in_order(count: int) -> None:
    agents = cast(Any, list(range(count)))
    parts = list(launching._parts(agents))
    assert list(chain.from_iterable(parts)) == agents
    assert all(parts)
    assert max(map(len, parts), default=0) <= launching._PART


def test_a_few_are_in_one_part() -> None:
    assert len(list(launching._parts(cast(Any, list(range(launching._FEW)))))) == 1


def test_the_first_part_is_small_so_that_tmux_soon_has_work_and_the_last_so_that_nobody_waits_for_long() -> None:
    first, *others, last = launching._parts(cast(Any, list(range(3 * launching._PART))))
    assert len(first) == launching._FIRST_PART
    assert len(last) == launching._LAST_PART
    assert max(map(len, others)) == launching._PART
