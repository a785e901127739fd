"""Attacks: names, titles and messages that something would take for more than text; and asking for too much."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.lab.security.attacks import BEN, SPY, WEB, Attack, Outcome, asked, denied, fruitless
from tests.lab.security.ground import BEN as BENS
from tests.lab.security.ground import Ground
from tests.lab.support.people import repository, spec
from tests.lab.support.shared import system

#: What tmux, a shell, git, systemd or a path would do something with.
HOSTILE = ("#(touch /tmp/owned)", "$(touch /tmp/owned)", "a;touch /tmp/owned", "../../etc", "-rf", "a\nb", "a%n", "")

#: A team that has a repository.
BRANCHES = '[team]\nname = "branches"\nrepo = "."\n[agents.a]\ncommand = ["sleep", "1000"]\n'
#: Has the agent be on a branch called `$one`, with a commit.
RENAMED = (
    'corral exec branches/a -- sh -c \'git update-ref "refs/heads/$1" HEAD && git symbolic-ref HEAD "refs/heads/$1"'
    ' && echo "$1" >file && git add file && git commit --quiet --message named\' sh "$one"'
)


def up(team: str, agent: str = "a", more: str = "") -> str:
    """Past the command line, which would say no as well."""
    text = f"[team]\nname = {json.dumps(team)}\n[agents.{json.dumps(agent)}]\ncommand = ['true']\n{more}"
    body = shlex.quote(json.dumps({"file": "/home/ben/names/corral.toml", "text": text}))
    return f'said=$($RAW POST /v1/up {body}); echo "$said"; ! echo "$said" | grep -q \'"code":"bad_spec"\''


def named(kind: str, name: str, what: str) -> Attack:
    told = Outcome(verb="up", outcome="400")
    return Attack(name=f"{kind} {name!r}", who=BEN, what=what, says="bad_spec", told=told)


#: What no branch may be called here, whatever git says.
NO_BRANCHES = (
    "-x",
    "--upload-pack=touch /tmp/owned",
    "../../../etc",
    "a..b",
    "@{-1}",
    "a\nb",
    "a\x1b]2;owned\x07",
    "x" * 5000,
    "#(touch /tmp/owned)",
)
#: What an agent can have git call its own branch, past the commands that would refuse to.
OWN_BRANCHES = (
    "-x",
    "--upload-pack=touch${IFS}/tmp/owned",
    "$(touch${IFS}/tmp/owned);`touch${IFS}/tmp/owned`#(touch${IFS}/tmp/owned)",
)


def each_of(bodies: Sequence[object], target: str, more: str = "") -> str:
    """Past the command line, which would take some for options: all of them; what is said to each tells."""
    words = shlex.join(map(json.dumps, bodies))
    return f"for one in {words}; do $RAW POST '{target}' \"$one\" {more}; done; exit 1"


TABLE = (
    fruitless(
        "branches of such names",
        WEB,
        each_of(
            [{"branch": name} for name in NO_BRANCHES],
            "/v1/merges?team=shop&agent=web",
            '"x-corral-credential: $(cat $CORRAL_CREDENTIAL_FILE)"',
        ),
        says=rf"^(404 .*(cannot be the name of a branch|may have here).*\n){{{len(NO_BRANCHES)}}}$",
        verb="submit_merge",
        outcome="404",
    ),
    fruitless(
        "twins of such names",
        BEN,
        each_of([{"team": "mill", "agent": "spy", "name": name} for name in HOSTILE], "/v1/fork"),
        says=rf'^(\d+ {{"error":{{"code":"wrong_use".*\n+){{{len(HOSTILE)}}}$',
        verb="fork",
        outcome="400",
    ),
    *(named("a team called", name, up(name)) for name in HOSTILE),
    *(named("an agent called", name, up("names", name)) for name in HOSTILE),
    named("a branch", "--upload-pack", up("names", more="[merge]\ntarget = '--upload-pack=touch /tmp/owned'\n")),
    fruitless(
        "a message with a format of tmux",
        BEN,
        "corral send mill/spy '#(touch /tmp/owned)'; corral ps >/dev/null; test -e /tmp/owned",
        says="",
        verb="send",
        outcome="200",
    ),
    fruitless(
        "a title with a format of tmux",
        BEN,
        """corral send mill/spy "printf '\\033]2;#(touch /tmp/ow''ned)\\007'";"""
        " corral ps --wide >/dev/null; corral logs mill/spy >/dev/null; test -e /tmp/owned",
        says="",
        verb="send",
        outcome="200",
    ),
    asked("acquire_lease", "junior.join", BEN, "lease acquire --team shop '**'", "may take part in the work of"),
    asked("add_task", "junior.join", BEN, "task add --team shop owned", "may take part in the work of"),
    fruitless(
        "a lease of a file that is outside of the team's",
        WEB,
        "corral lease acquire ../../../../etc/shadow",
        says="corral: ",
        verb="acquire_lease",
        outcome="400",
    ),
    denied(
        "commands that another agent is to pay for",
        SPY,
        "for one in 1 2 3; do corral exec shop/api -- sleep 100 && exit; done; exit 1",
        says="no team shop is up",
        verb="execute",
        rule="not_asked",
    ),
)


@pytest.mark.parametrize("attack", TABLE, ids=range(len(TABLE)))
def test_names_and_messages_are_text_and_nobody_spends_for_others(
    ground: Ground, fails: Callable[[Attack], None], attack: Attack
) -> None:
    fails(attack)


@pytest.fixture(scope="module")
def branches(ground: Ground) -> Iterator[None]:
    """A team of ben's with a worktree."""
    repository(BENS, "branches")
    BENS.run("corral", "up", cwd=spec(BENS, "branches", BRANCHES))
    yield
    system("rm", "-rf", f"{BENS.home}/branches", "/srv/corral/ben/branches")


def test_an_agents_own_branch_is_a_name_where_it_is_merged_and_where_its_team_goes_down(
    ground: Ground, branches: None, fails: Callable[[Attack], None]
) -> None:
    fails(
        fruitless(
            "an agent's own branch",
            BEN,
            f"for one in {shlex.join(OWN_BRANCHES)}; do {RENAMED} || exit 0;"
            " corral merge submit --agent branches/a --wait 20s;"
            " corral down --team branches && (cd ~/branches && corral up) || exit 0; done;"
            " corral down --team branches --discard || exit 0; exit 1",
            says="cannot be the name of a branch",
            verb="submit_merge",
            outcome="404",
        )
    )
