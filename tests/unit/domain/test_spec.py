"""What a good `corral.toml` means."""

import pytest

from corral.domain import spec
from corral.domain.errors import BadSpecError
from corral.domain.spec import AgentSpec, TeamSpec, parse

FILE = "/home/ann/shop/corral.toml"


def agents_of(text: str, team: str = 'name = "shop"\nrepo = "."') -> tuple[AgentSpec, ...]:
    return parse(f"[team]\n{team}\n{text}", FILE).agents


def agent_of(text: str, team: str = 'name = "shop"\nrepo = "."') -> AgentSpec:
    (agent,) = agents_of(f"[agents.builder]\n{text}", team)
    return agent


def test_the_example_of_the_documentation() -> None:
    team = parse(
        """
        [team]
        name = "shop"
        repo = "."                       # optional: the git repository the agents work on

        [agents.builder]
        command = ["claude"]             # argv, or one string for a shell
        count = 2                        # builder-1, builder-2
        workspace = "worktree"           # worktree | shared | "some/dir"
        env = { NODE_ENV = "test" }
        restart = "on-failure"           # never | on-failure | always
        prompt = "…"                     # first message, delivered when the agent is ready
        """,
        FILE,
    )
    builder = {
        "declared_as": "builder",
        "command": ("claude",),
        "shell": False,
        "workspace": "worktree",
        "env": (("NODE_ENV", "test"),),
        "restart": "on-failure",
        "prompt": "…",
    }
    assert team == TeamSpec(
        name="shop",
        file=FILE,
        directory="/home/ann/shop",
        repo="/home/ann/shop",
        agents=(AgentSpec(name="builder-1", **builder), AgentSpec(name="builder-2", **builder)),  # type: ignore[arg-type]
    )


def test_the_least_that_can_be_said() -> None:
    team = parse('[team]\nname = "a"\n[agents.b]\ncommand = ["c"]\n', FILE)
    assert team.repo is None
    assert team.agents == (
        AgentSpec(
            name="b",
            declared_as="b",
            command=("c",),
            shell=False,
            workspace="shared",
            env=(),
            restart="never",
            prompt="",
        ),
    )


def test_a_command_of_words_is_an_argument_vector() -> None:
    agent = agent_of('command = ["claude", "", "a b", "line\\nbreak"]')
    assert (agent.command, agent.shell) == (("claude", "", "a b", "line\nbreak"), False)


def test_a_command_of_one_string_is_for_a_shell() -> None:
    agent = agent_of('command = "make watch | tee log; true"')
    assert (agent.command, agent.shell) == (("make watch | tee log; true",), True)


@pytest.mark.parametrize(
    ("count", "names"),
    [
        ("", ["builder"]),
        # The default written down: it changes nothing.
        ("count = 1", ["builder"]),
        ("count = 2", ["builder-1", "builder-2"]),
        ("count = 3", ["builder-1", "builder-2", "builder-3"]),
    ],
)
def test_count_numbers_the_agents_of_a_table(count: str, names: list[str]) -> None:
    agents = agents_of(f'[agents.builder]\ncommand = ["x"]\n{count}')
    assert [agent.name for agent in agents] == names
    assert {agent.declared_as for agent in agents} == {"builder"}


def test_agents_come_in_the_order_of_the_file() -> None:
    agents = agents_of('[agents]\nz = { command = ["x"] }\nb = { command = ["x"], count = 2 }\na.command = "x"\n')
    assert [agent.name for agent in agents] == ["z", "b-1", "b-2", "a"]


@pytest.mark.parametrize(
    ("team", "workspace", "expected"),
    [
        ('repo = "."', "", "worktree"),
        ("", "", "shared"),
        ('repo = "."', 'workspace = "shared"', "shared"),
        ("", 'workspace = "some/dir"', "/home/ann/shop/some/dir"),
        ("", 'workspace = "."', "/home/ann/shop"),
        ("", 'workspace = "../other/"', "/home/ann/other"),
        ("", 'workspace = "/srv/x"', "/srv/x"),
        ("", 'workspace = "./shared"', "/home/ann/shop/shared"),
        ("", 'workspace = "./worktre"', "/home/ann/shop/worktre"),
        ("", 'workspace = "web"', "/home/ann/shop/web"),
        ("", "workspace = 'größe und ähnliches'", "/home/ann/shop/größe und ähnliches"),
    ],
)
def test_workspaces(team: str, workspace: str, expected: str) -> None:
    agent = agent_of(f'command = ["x"]\n{workspace}', f'name = "shop"\n{team}')
    assert agent.workspace == expected


@pytest.mark.parametrize(
    ("repo", "expected"),
    [(".", "/home/ann/shop"), ("..", "/home/ann"), ("/srv/shop.git", "/srv/shop.git"), ("a/../b", "/home/ann/shop/b")],
)
def test_the_repository_is_absolute_and_where_the_team_works(repo: str, expected: str) -> None:
    team = parse(f'[team]\nname = "a"\nrepo = "{repo}"\n[agents.b]\ncommand = "c"\n', FILE)
    assert (team.repo, team.base) == (expected, expected)


@pytest.mark.parametrize(("said", "mcp"), [("", False), ("mcp = false", False), ("mcp = true", True)])
def test_agents_are_told_of_the_mcp_server_if_the_file_asks_for_it(said: str, mcp: bool) -> None:
    assert [agent.mcp for agent in agents_of("[agents.a]\ncommand = 'x'\ncount = 2", f'name = "a"\n{said}')] == [
        mcp,
        mcp,
    ]


def test_without_a_repository_the_team_works_where_the_file_is() -> None:
    assert parse('[team]\nname = "a"\n[agents.b]\ncommand = "c"\n', FILE).base == "/home/ann/shop"


def test_the_environment_is_sorted_by_name() -> None:
    agent = agent_of('command = "c"\nenv = { B = "2", _a = "", A = "1=1" }')
    assert agent.env == (("A", "1=1"), ("B", "2"), ("_a", ""))


def test_the_environment_may_have_a_table_of_its_own() -> None:
    assert agent_of('command = "c"\n[agents.builder.env]\nA = "1"\n').env == (("A", "1"),)
    assert agent_of('command = "c"\nenv.A = "1"\n').env == (("A", "1"),)


@pytest.mark.parametrize("restart", ["never", "on-failure", "always"])
def test_restart_policies(restart: str) -> None:
    assert agent_of(f'command = "c"\nrestart = "{restart}"').restart == restart


def test_an_agent_is_not_restarted_unless_the_file_asks_for_it() -> None:
    assert agent_of('command = "c"').restart == spec.DEFAULT_RESTART == "never"


@pytest.mark.parametrize(
    ("text", "terminal", "stdin"),
    [
        ("", "tmux", True),
        ('terminal = "tmux"\nstdin = true', "tmux", True),
        ('terminal = "none"', "none", True),
        ('terminal = "none"\nstdin = false', "none", False),
    ],
)
def test_an_agent_has_a_terminal_unless_the_file_says_not(text: str, terminal: str, stdin: bool) -> None:
    agent = agent_of(f'command = "c"\n{text}')
    assert (agent.terminal, agent.stdin) == (terminal, stdin)


def test_a_prompt_keeps_its_lines() -> None:
    assert agent_of('command = "c"\nprompt = """\nFirst.\n  Then;\n"""').prompt == "First.\n  Then;\n"


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    text = '\ufeff[team]\r\nname = "a"\r\n[agents.b]\r\ncommand = "c"\r\n'
    assert parse(text, FILE).name == "a"


def test_the_most_agents_a_team_can_have() -> None:
    agents = agents_of('[agents.a]\ncommand = "x"\ncount = 999\n[agents.b]\ncommand = "x"\n')
    assert len(agents) == spec.MAX_AGENTS


def test_the_file_is_named_by_its_absolute_path() -> None:
    with pytest.raises(BadSpecError, match="absolute path"):
        parse('[team]\nname = "a"\n', "corral.toml")
