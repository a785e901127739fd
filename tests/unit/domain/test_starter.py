"""What `corral init` writes is always a good spec, whatever the directory is called and whatever is installed."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.agents.catalogue import profiles
from corral.domain import names, spec
from corral.domain.starter import KnownAgent, Starter, Surroundings, starter

FILE = "/home/ann/shop/corral.toml"
KNOWN = {
    profile.name: KnownAgent(name=profile.name, title=profile.title, command=profile.command, note=profile.note)
    for profile in profiles()
}
DEMO = KNOWN["demo"]
OTHERS = tuple(agent for agent in KNOWN.values() if agent is not DEMO)


def around(*installed: str, directory: str = "shop", repo: str | None = ".", has_commit: bool = True) -> Surroundings:
    return Surroundings(
        directory=directory,
        repo=repo,
        has_commit=has_commit,
        installed=tuple(KNOWN[name] for name in installed),
        missing=tuple(agent for agent in OTHERS if agent.name not in installed),
        fallback=DEMO,
    )


def with_examples(text: str) -> str:
    """The file as it is when a person takes in every example below the agents."""
    head, examples = text.partition("# For later")[0].split("# More agents to choose from")
    return head + "\n".join(line.removeprefix("# ") for line in examples.split("\n")[1:])


SURROUNDINGS = st.builds(
    around,
    st.sampled_from([agent.name for agent in OTHERS]),
    directory=st.text(max_size=60),
    repo=st.sampled_from([None, ".", "..", "../.."]),
    has_commit=st.booleans(),
) | st.builds(
    lambda installed, directory, repo, has_commit: around(
        *installed, directory=directory, repo=repo, has_commit=has_commit
    ),
    st.lists(st.sampled_from([agent.name for agent in OTHERS]), unique=True),
    st.text(max_size=60),
    st.sampled_from([None, ".", "..", "../.."]),
    st.booleans(),
)
ANY_AGENT = st.builds(
    KnownAgent,
    name=st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    title=st.text(),
    command=st.lists(st.text(min_size=1).filter(lambda word: word.strip() and "\0" not in word), min_size=1).map(tuple),
    note=st.text(),
)


def agreeing(file: Starter) -> spec.TeamSpec:
    """The spec that the text declares, which must be what the starter says it is."""
    team = spec.parse(file.text, FILE)
    assert team.name == file.team
    assert tuple(agent.name for agent in team.agents) == file.agents
    assert {agent.workspace for agent in team.agents} == {file.workspace}
    return team


@given(SURROUNDINGS)
def test_the_file_is_a_good_spec(found: Surroundings) -> None:
    file = starter(found)
    team = agreeing(file)
    assert names.is_valid(team.name)
    assert (team.repo is None) == (found.repo is None)
    assert file.agents == (tuple(agent.name for agent in found.installed) or ("demo",))


@given(SURROUNDINGS)
def test_the_file_is_a_good_spec_with_every_example_taken_in(found: Surroundings) -> None:
    team = spec.parse(with_examples(starter(found).text), FILE)
    assert sorted(agent.name for agent in team.agents) == sorted(KNOWN)
    assert {agent.name: agent.command for agent in team.agents} == {n: a.command for n, a in KNOWN.items()}


@given(ANY_AGENT)
def test_no_profile_can_break_the_file(agent: KnownAgent) -> None:
    found = Surroundings(directory="x", repo=".", has_commit=True, installed=(agent,), missing=(), fallback=DEMO)
    assert agreeing(starter(found)).agents[0].command == agent.command


def test_a_repository_with_a_commit_gives_worktrees() -> None:
    file = starter(around("claude", "codex"))
    assert (file.team, file.agents, file.workspace) == ("shop", ("claude", "codex"), "worktree")
    assert agreeing(file).repo == "/home/ann/shop"


def test_a_directory_below_the_top_points_at_the_top() -> None:
    assert agreeing(starter(around("claude", repo="../.."))).repo == "/home"


def test_a_repository_without_a_commit_is_shared_and_says_why() -> None:
    file = starter(around("claude", has_commit=False))
    assert (file.workspace, agreeing(file).repo) == ("shared", "/home/ann/shop")
    assert "the repository has no commit yet" in file.text


def test_no_repository_is_shared_and_says_why() -> None:
    file = starter(around("claude", repo=None, has_commit=False))
    assert (file.workspace, agreeing(file).repo) == ("shared", None)
    assert "there is no git repository here" in file.text


def test_what_the_comments_advise_after_the_first_commit_is_good() -> None:
    text = starter(around("claude", repo=None, has_commit=False)).text
    advised = text.replace('# repo = "."', 'repo = "."').replace('workspace = "shared"', 'workspace = "worktree"')
    assert spec.parse(advised, FILE).agents[0].workspace == "worktree"


def test_without_a_coding_agent_there_is_the_demo_agent() -> None:
    file = starter(around())
    assert file.agents == ("demo",)
    assert "No coding agent was found" in file.text


def test_a_directory_without_a_letter_has_a_team_all_the_same() -> None:
    assert starter(around(directory="")).team == "team"
    assert starter(around(directory="…")).team == "team"


@pytest.mark.parametrize(
    ("directory", "team"),
    [
        ("Café", "cafe"),
        ("Cafe\u0301 Größe", "cafe-grosse"),
        ("Ærøskøbing", "aeroskobing"),
        ("ŁÓDŹ_2", "lodz-2"),
        ("İstanbul", "istanbul"),
        ("ｆｕｌｌ", "full"),
        ("проект", "team"),
        ("项目", "team"),
        ("项目 api", "api"),
    ],
)
def test_a_directory_with_accents_names_its_team_without_them(directory: str, team: str) -> None:
    assert starter(around(directory=directory)).team == team


def test_the_keys_that_most_teams_need_are_there_and_explained() -> None:
    text = starter(around("claude")).text
    first = ("name", "repo", "command", "count", "workspace", "env", "restart", "prompt", "after")
    for key in (*first, "kind", "ready", "check", "unattended", "max_agents", "desktop"):
        assert re.search(rf"^(?:# )?{key} = .*\S +# \S", text, re.MULTILINE), key


def test_the_keys_that_are_commented_out_can_be_taken_in_as_they_are() -> None:
    text = starter(around("claude")).text
    head = text.split("# More agents")[0]
    taken_in = re.sub(r"^# (count|env|prompt) =", r"\1 =", head, flags=re.MULTILINE)
    assert [agent.name for agent in spec.parse(taken_in, FILE).agents] == ["claude-1", "claude-2"]
    assert set(tomllib.loads(taken_in)["agents"]["claude"]) >= {"count", "env", "prompt"}


@given(SURROUNDINGS)
def test_the_tables_for_later_can_be_taken_in_as_they_are(found: Surroundings) -> None:
    file = starter(found)
    head, _, rest = file.text.partition("# For later")
    tables = rest.split("\n", 2)[2]
    taken_in = head + "\n".join(line.removeprefix("# ") for line in tables.split("\n"))
    taken_in = taken_in.replace("# after = [", "after = [", 1)
    team = spec.parse(taken_in, FILE)
    assert [agent.name for agent in team.agents] == [*file.agents, "web"]
    first, web = team.agents[0], team.agents[-1]
    assert (first.after, web.kind, web.workspace) == (("web",), "service", "shared")
    assert set(tomllib.loads(taken_in)) == {"team", "agents", "supervision", "notify"}
