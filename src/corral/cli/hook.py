"""`corral hook`: what coding agents ask before they write, in their own hook protocols."""

import os

from corral.cli.command import FILES, Argument, Command, Invocation

#: The agents whose hooks are spoken, each with the events that mean something; a test holds them to the dialects.
AGENTS = (
    ("claude", "Claude Code", "pre-tool-use"),
    ("codex", "Codex", "pre-tool-use"),
    ("gemini", "Gemini CLI", "before-tool"),
    ("cursor", "Cursor", "pre-tool-use"),
    ("opencode", "OpenCode", "pre-tool-use"),
    ("pi", "pi", "pre-tool-use"),
)


#: Those whose files Corral knows.
REGISTERED = ("claude", "codex", "gemini", "opencode", "pi")


def install(invocation: Invocation) -> int:
    return _register(invocation, remove=False)


def uninstall(invocation: Invocation) -> int:
    return _register(invocation, remove=True)


def _register(invocation: Invocation, *, remove: bool) -> int:
    from corral.cli.output import remark, say, write_json
    from corral.client.answers import ask

    program = invocation.word("PROGRAM")
    directory = os.path.abspath(next(iter(invocation.words("DIRECTORY")), "."))
    answer = ask(invocation.places, "POST", f"/v1/hooks/{program}/register", {"directory": directory, "remove": remove})
    note = str(answer.get("note") or "")
    if invocation.json:
        write_json(answer)
    else:
        say(f"{program}: hooks {'taken out of' if remove else 'registered in'} {directory}")
        if note:
            remark(note)
    return 0


def serve(invocation: Invocation) -> int:
    from corral.hook.agents import run

    return run(invocation.places, invocation.command.name.rpartition(" ")[2], invocation.word("EVENT"))


_PROGRAM = Argument("PROGRAM", summary="the coding agent", choices=REGISTERED)
_DIRECTORY = Argument("DIRECTORY", summary="where it works; without it, here", required=False, offers=FILES)

COMMAND = Command(
    "hook",
    "answer the hooks of coding agents: may this file be written?",
    description=(
        "Speaks a coding agent's hook protocol on standard input and output. A write is refused if somebody else\n"
        "holds the file, or if it has changed since the agent read or wrote it last; the reason is for the model.\n"
        "What is read and written is noted, and every call renews the leases of the agent. If the daemon gives no\n"
        'answer, writes are refused, unless corral.toml says unreachable = "allow" in [enforcement]; reads pass.\n'
        "Agents whose protocol can carry it are told of unread messages (corral msg), which are injected then."
    ),
    examples=(
        ("corral hook install claude", "have Claude Code ask before it writes in this directory"),
        ("corral hook claude pre-tool-use", "as Claude Code runs it before it uses a tool"),
    ),
    commands=(
        Command(
            "hook install",
            "have a coding agent ask before it writes in a directory",
            description=(
                "Adds Corral's hooks to the coding agent's own file there, whose other contents stay; a file that is\n"
                "made for it is hidden from git. With hooks = true in [team], corral up does this for each agent."
            ),
            examples=(("corral hook install claude", "in .claude/settings.local.json of this directory"),),
            arguments=(_PROGRAM, _DIRECTORY),
            run=install,
        ),
        Command(
            "hook uninstall",
            "take the hooks out of a directory again",
            examples=(("corral hook uninstall claude", "whatever else the file says stays"),),
            arguments=(_PROGRAM, _DIRECTORY),
            run=uninstall,
        ),
        *(
            Command(
                f"hook {name}",
                f"one event of {title}",
                description=(
                    f"Started by {title} with a JSON object on standard input. An event may be spelled as the agent\n"
                    "does it, or with dashes. Events and tools that are not known pass."
                ),
                examples=((f"corral hook {name} {event}", "before a tool is used"),),
                arguments=(Argument("EVENT", summary=f"the event, such as {event}"),),
                run=serve,
            )
            for name, title, event in AGENTS
        ),
    ),
)
