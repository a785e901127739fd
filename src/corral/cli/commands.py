"""The register of commands: where each lives and what it is for, in one line.

`corral --help` and the dispatch read only this; a command's module is loaded when the command is used.
"""

from corral.domain.errors import WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from corral.cli.command import Command


class Entry:
    """One line of the register. Its summary is the command's own; a test holds them together."""

    __slots__ = ("group", "module", "name", "summary")

    def __init__(self, name: str, module: str, group: str, summary: str) -> None:
        self.name = name
        self.module = module
        #: The heading in `corral --help`; empty hides the command.
        self.group = group
        self.summary = summary

    def load(self) -> "Command":
        """The command itself."""
        # `importlib` is not loaded at start-up and would cost a tenth of the budget of `ps`.
        module = __import__(self.module, fromlist=["COMMAND"])
        command: Command = module.COMMAND
        return command


TEAM_WORK = "A team"
TALKING = "Its agents"
TOGETHER = "Working together"
INSTANCE = "This instance"
HIDDEN = ""

ENTRIES = tuple(
    Entry(name, "corral.cli." + (module or name), group, summary)
    for name, module, group, summary in (
        ("init", "", TEAM_WORK, "write a corral.toml that fits this repository"),
        ("up", "", TEAM_WORK, "start the team of a corral.toml, or what is missing of it"),
        ("ps", "", TEAM_WORK, "show the agents that are up"),
        ("stats", "", TEAM_WORK, "show what agents use: processor, memory, tasks"),
        ("down", "", TEAM_WORK, "take a team down and prove that nothing is left"),
        ("attach", "", TALKING, "join an agent's terminal"),
        ("session", "", TALKING, "see who shares an agent's terminal, and steer it"),
        ("send", "", TALKING, "type a message into an agent's terminal"),
        ("inbox", "", TALKING, "see who waits for a person, and answer"),
        ("broadcast", "", TALKING, "type a message into the terminals of a whole team"),
        ("logs", "", TALKING, "read what agents printed"),
        ("replay", "", TALKING, "play what an agent's terminal showed"),
        ("exec", "", TALKING, "run a command in an agent's workspace and environment"),
        ("proc", "", TALKING, "look at and steer what corral exec started"),
        ("lease", "", TOGETHER, "hold files, so that nobody else changes them meanwhile"),
        ("lock", "", TOGETHER, "hold a name while a command runs"),
        ("hook", "", TOGETHER, "answer the hooks of coding agents: may this file be written?"),
        ("kv", "", TOGETHER, "keep values that the whole team sees"),
        ("msg", "", TOGETHER, "send messages to mailboxes of agents and people"),
        ("pub", "", TOGETHER, "publish to a topic that others follow"),
        ("sub", "", TOGETHER, "follow a topic"),
        ("task", "", TOGETHER, "hand work over: tasks that are claimed and done once"),
        ("who", "", TOGETHER, "tell who changed, holds or claimed a file"),
        ("merge", "", TOGETHER, "bring branches into the target, tested and in order"),
        ("port", "", TOGETHER, "give agents ports of their own, and tell who listens on what"),
        ("stop", "", TALKING, "stop agents; they stay in the team"),
        ("restart", "", TALKING, "stop agents and start them again"),
        ("fork", "", TALKING, "make an agent beside another, with the other's past"),
        ("pause", "", TALKING, "make agents stand still, with everything they started"),
        ("resume", "", TALKING, "let paused agents go on"),
        ("rm", "", TALKING, "remove stopped agents from the team"),
        ("mcp", "", TALKING, "offer an agent its processes and its team as MCP tools"),
        ("events", "", INSTANCE, "read the journal: everything that happened"),
        ("audit", "", INSTANCE, "read, export and verify the audit trail: who did what"),
        ("daemon", "", INSTANCE, "start, stop or look at the daemon"),
        ("doctor", "", INSTANCE, "look for what is wrong on this host; --fix heals what is ours"),
        ("host", "", INSTANCE, "make this machine a shared server for several people, or undo that"),
        ("member", "", INSTANCE, "say who belongs to this shared server, and as what"),
        ("token", "", INSTANCE, "let yourself in over the network: make, list and revoke tokens"),
        ("profile", "", INSTANCE, "see what is known of coding agents, and try it on a live one"),
        ("policy", "", INSTANCE, "tell who may do what, and try rules of your own"),
        ("completion", "", INSTANCE, "print a completion script for your shell"),
        ("version", "", INSTANCE, "print the version"),
        ("help", "", INSTANCE, "show help, also for one command"),
        ("keeper", "", HIDDEN, "run the keeper of this OS user"),
        ("demo-agent", "demo_agent", HIDDEN, "play a coding agent, from a script and without a model"),
    )
)

#: Commands that end something: nobody is to be led to one by a guess.
_RASH = ("down", "restart", "rm", "stop")
#: What people are used to from elsewhere, and what to tell them; `top` is one letter away from `stop`.
_OTHER_WORDS = {"top": "did you mean stats or ps?", "ls": "did you mean ps?", "list": "did you mean ps?"}


def find(name: str) -> "Entry | None":
    """The entry of the command `name`, if there is one."""
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    return None


def named(name: str) -> Entry:
    """The entry of the command `name`; one that does not exist is wrong use."""
    entry = find(name)
    if entry is None:
        from corral.cli.suggest import did_you_mean

        known = [entry.name for entry in ENTRIES if entry.group]
        guess = _OTHER_WORDS.get(name) or did_you_mean(name, known, rash=_RASH)
        raise WrongUseError(f"there is no command {name!r}", guess or "corral --help lists the commands")
    return entry


def visible() -> "Iterator[Entry]":
    """The commands that help, completion and reference show."""
    return (entry for entry in ENTRIES if entry.group)
