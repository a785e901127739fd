"""What the hooks of git tell whoever is refused: commands that work as they are."""

import pytest

from corral.hook import asking
from corral.hook.git_hook import REFUSED, Settings, _judge_refs, _tell_refusal


@pytest.mark.parametrize(("holder", "recipient"), [("shop/b", "shop/b"), ("ann", "@ann")])
def test_whoever_holds_it_can_be_written_to_as_it_is_said(
    capsys: pytest.CaptureFixture[str], holder: str, recipient: str
) -> None:
    _tell_refusal([asking.Refused(f"src/x.py\theld\t{holder}\tsrc/\texclusive\tl7\t7\tSINCE\tUNTIL\t")])
    told = capsys.readouterr().err
    assert f"ask {holder} to release it (corral msg send {recipient} -m '…')" in told


def test_whose_branch_it_is_can_be_written_to_as_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(["home=/h", "runtime=/r", "instance=i", "team=shop", "agent=a"])
    assert _judge_refs([("0" * 40, "1" * 40, "refs/heads/corral/shop/b")], settings) == REFUSED
    assert "corral msg send shop/b -m '…' asks for" in capsys.readouterr().err
