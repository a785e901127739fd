"""What an agent finds in its environment."""

from corral.domain.environment import agent_environment, ambient_environment, team_markers

AMBIENT = {
    "PATH": "/bin",
    "ANTHROPIC_API_KEY": "k",
    "TMUX": "/tmp/tmux-1/default,1,0",
    "TERM": "xterm",
    "BASH_FUNC_x%%": "() { :; }",
    "CORRAL_AGENT": "somebody-else",
    "NODE_ENV": "dev",
}


def environment(declared: dict[str, str] | None = None) -> dict[str, str]:
    ambient = ambient_environment(AMBIENT)
    return agent_environment(
        ambient, declared or {}, instance="i1", home="/h", runtime="/r", team="shop", agent="builder"
    )


def test_it_is_the_environment_of_who_said_up() -> None:
    assert environment()["ANTHROPIC_API_KEY"] == "k"


def test_what_belongs_to_the_callers_terminal_stays_there() -> None:
    assert not {"TMUX", "TERM"} & environment().keys()


def test_what_a_shell_cannot_export_is_left_out() -> None:
    assert "BASH_FUNC_x%%" not in environment()


def test_a_port_of_the_caller_is_not_the_agents_and_a_declared_one_is() -> None:
    ports = {"PORT": "20000", "CORRAL_PORT_WEB": "20001"}
    ambient = ambient_environment({"PORT": "3000", "CORRAL_PORT_WEB": "1"})

    def found(**declared: str) -> dict[str, str]:
        return agent_environment(
            ambient, declared, instance="i", home="/h", runtime="/r", team="shop", agent="a", ports=ports
        )

    assert (found()["PORT"], found()["CORRAL_PORT_WEB"]) == ("20000", "20001")
    assert found(PORT="8080")["PORT"] == "8080"


def test_what_is_declared_wins() -> None:
    assert environment({"NODE_ENV": "test"})["NODE_ENV"] == "test"


def test_an_agent_has_an_identity_of_its_own() -> None:
    found = environment()
    assert (found["CORRAL_TEAM"], found["CORRAL_AGENT"], found["CORRAL_INSTANCE"]) == ("shop", "builder", "i1")


def test_the_markers_of_a_team_are_in_it_as_they_are() -> None:
    entries = {f"{name}={value}".encode() for name, value in environment().items()}
    assert set(team_markers("i1", "shop")) <= entries
