"""Attacks: formats of tmux in what ann sees at her terminal, by the agent of hers that she looks at.

tmux runs `#(…)` as whoever's server it is, also where nothing but a line is to be shown. So the very text must be there
to be read in the end: what tmux takes for a format is not.
"""

import json
import os
from collections.abc import Callable, Iterator

import pytest

from tests.lab.security.attacks import WEB, Attack, each, fruitless
from tests.lab.security.ground import ANN, Ground
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.waiting import wait_for

FORMAT = "#(touch /tmp/owned)"
#: The same without a blank, which no branch has.
BRANCH = "#(touch${IFS}/tmp/owned)"
#: Hands in what changes the same line as something that was merged.
CONFLICT = f"""
was=$(git symbolic-ref --short HEAD)
git switch --quiet --create '{BRANCH}' $(git rev-list --max-parents=0 HEAD) || exit 0
echo web >noticed; git add noticed; git commit --quiet --message noticed
corral merge submit '{BRANCH}' --wait 30s
code=$?
git switch --quiet $was
exit $code"""
#: Gives its own terminal a title, and waits until Corral has read it there.
TITLE = f"""
printf '\\033]2;{FORMAT}\\007' >/proc/$OF_WEB/fd/1
until corral logs --screen --json shop/web | grep -F 'touch /tmp/owned'; do :; done
exit 1"""

#: What ann must read in the end, by attack. Titles are shown nowhere.
NOTICES = {
    "a message": f"shop/talker waits for you (permission): permission needed: {FORMAT}",
    "the name of a branch": f"{BRANCH} and main",
    "a title": "",
}
TABLE = (
    fruitless(
        "a message",
        WEB,
        f"corral task add --body 'ask: {FORMAT}' noticed; exit 1",
        says=r"^t\d",
        verb="add_task",
        outcome="200",
    ),
    fruitless("the name of a branch", WEB, CONFLICT, says="same lines", verb="submit_merge", outcome="200"),
    fruitless("a title", WEB, TITLE, says="touch", verb="screen", outcome="200"),
)


@pytest.fixture(scope="module")
def prepared(ground: Ground) -> Iterator[None]:
    """What shop/api did is in main, from where shop/web does not begin; shop/talker does what a task says."""
    commit = "echo api >noticed && git add noticed && git commit --quiet --message noticed"
    ANN.run("corral", "exec", "shop/api", "--", "sh", "-c", commit)
    ANN.run("corral", "merge", "submit", "--agent", "shop/api", "--wait", "60s")
    ANN.run("corral", "send", "shop/talker", "claim: 60")
    yield
    for entry in json.loads(ANN.run("corral", "inbox", "--json").stdout)["entries"]:
        if entry["kind"] == "permission":
            ANN.run("corral", "inbox", "deny", str(entry["entry"]))


@pytest.fixture
def at_the_keyboard(ground: Ground) -> Iterator[AtTheKeyboard]:
    """Ann is attached to the very agent."""
    with AtTheKeyboard(ANN.argv("corral", "attach", WEB), dict(os.environ)) as ann:
        wait_for(lambda: b"ann drives" in ann.shown, what="ann is there")
        yield ann
        ann.press(b"\x02d")
        assert ann.exit_code() == 0


@each(TABLE)
def test_ann_reads_the_text_and_nothing_in_it_is_done(
    ground: Ground, prepared: None, at_the_keyboard: AtTheKeyboard, fails: Callable[[Attack], None], attack: Attack
) -> None:
    fails(attack)
    wait_for(lambda: NOTICES[attack.name].encode() in at_the_keyboard.shown, 10, "ann is told")
    assert ground.harm() == []
