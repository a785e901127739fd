# ruff: noqa: E501 - a row is a line
"""What a command does, row by row: the request, and what must hold of the answer.

Every row is run through every face (the command line, the HTTP API, MCP). Where another tool has shown what people and
models expect, or what goes wrong, the row names it.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Row:
    """One command. Whatever is None is not looked at."""

    what: str
    command: str | None = None
    argv: list[str] | None = None
    #: The other fields of the request.
    more: dict[str, Any] = field(default_factory=dict)

    output: str | None = None
    #: Must be somewhere in the output.
    shows: str | None = None
    exit_code: int | None = 0
    signal: str | None = None
    running: bool | None = False
    timed_out: bool = False
    promoted: bool = False
    #: A word in the command line of each process that outlived the command.
    survivors: tuple[str, ...] = ()
    #: Whose documented behaviour this is.
    like: str = ""


#: Does not end by itself within a test, and says so in every list of processes.
LONG = "sleep 86399"

ENDINGS = [
    Row(what="success is 0", command="true", output=""),
    Row(what="an exit code is the command's own", command="exit 3", exit_code=3, output=""),
    Row(what="255 is 255", command="exit 255", exit_code=255),
    Row(what="output and errors come together, in order", command="echo a; echo b >&2; echo c", output="a\nb\nc\n"),
    Row(what="output comes with a failure", command="echo almost; false", output="almost\n", exit_code=1),
    Row(what="death by a signal is 128 and its number, and named", command="kill -9 $$", exit_code=137, signal="SIGKILL"),
    Row(what="also by SIGTERM", command="kill -TERM $$", exit_code=143, signal="SIGTERM"),
    Row(what="also a crash", argv=["sh", "-c", "kill -SEGV $$"], exit_code=139, signal="SIGSEGV"),
    Row(what="an exit code of 137 is no signal", command="exit 137", exit_code=137, signal=None),
    Row(what="a command that is not there is bash's to tell", command="no-such-command-here", exit_code=127, shows="no-such"),
    Row(what="a file that cannot be run is 126", command="/etc/passwd", exit_code=126),
    Row(what="nonsense is bash's to tell, and is not changed", command="if then &", exit_code=2, shows="syntax error"),
    Row(what="the last of a pipeline decides", command="false | true", exit_code=0),
    Row(what="a command of several lines", command="echo one\necho two\n", output="one\ntwo\n"),
]  # fmt: skip

ARGUMENTS = [
    Row(what="an argv is run as it is, by no shell", argv=["echo", "$HOME", "a b", "*", ";", "&"], output="$HOME a b * ; &\n"),
    Row(what="an empty argument stays", argv=["printf", "[%s]", "", "x"], output="[][x]"),
    Row(what="any character goes through", argv=["printf", "%s", "ä €\t'\"\\\n🐎"], output="ä €\t'\"\\\n🐎"),
    Row(what="a long argument goes through", argv=["sh", "-c", 'printf "${#1}"', "sh", "x" * 100_000], output="100000"),
    Row(what="a command string is bash", command="[[ a == a ]] && echo {1..3} $((2**10))", output="1 2 3 1024\n"),
    Row(what="it runs in the agent's workspace", command="test -f corral.toml && echo here", output="here\n"),
    Row(what="or in a directory below it", command="basename $PWD", more={"workdir": "below"}, output="below\n"),
    Row(what="or anywhere else", command="pwd", more={"workdir": "/"}, output="/\n"),
    Row(what="a variable can be set", command='echo "$GREETING"', more={"env": {"GREETING": "hi there"}}, output="hi there\n"),
    Row(what="it knows whose it is", command='echo "$CORRAL_TEAM/$CORRAL_AGENT"', output="shop/a\n"),
]  # fmt: skip

UNATTENDED = [
    Row(what="standard input is empty and at its end", command="cat; echo end", output="end\n", like="codex"),
    Row(what="it may have an input", command="tr a-z A-Z", more={"input": "hello"}, output="HELLO"),
    Row(what="who asks for a terminal has none", command="tty", output="not a tty\n", exit_code=1),
    Row(what="no pager waits for a key", command="$PAGER </dev/null; $GIT_PAGER </dev/null; echo $?", output="0\n", like="codex"),
    Row(what="git asks nobody for a password", command="echo $GIT_TERMINAL_PROMPT", output="0\n"),
    Row(what="there are no colours", command="echo ${NO_COLOR:-none} $TERM", output="1 dumb\n"),
    Row(what="who wants colours sets them", command="echo $TERM", more={"env": {"TERM": "xterm"}}, output="xterm\n"),
]  # fmt: skip

#: `&` is understood: what is in a string, a comment or a redirection is left alone.
AMPERSANDS_THAT_ARE_NONE = [
    Row(what="in single quotes", command="echo 'a & b &'", output="a & b &\n"),
    Row(what="in double quotes", command='echo "a &"', output="a &\n"),
    Row(what="escaped", command="echo foo \\&", output="foo &\n"),
    Row(what="in a comment", command="echo a # b &", output="a\n"),
    Row(what="&&", command="true && echo yes", output="yes\n"),
    Row(what="2>&1", command="echo e >&2 2>&1", output="e\n"),
    Row(what="&>", command="echo gone &>/dev/null", output=""),
    Row(what="|&", command="{ echo a; echo b >&2; } |& sort -r", output="b\na\n"),
    Row(what="in arithmetic", command="echo $((6 & 3))", output="2\n"),
    Row(what="in a here-document", command="cat <<EOF\na & b &\nEOF", output="a & b &\n"),
    Row(what="in a pattern of case", command="case x in x) echo x ;;& *) echo any ;; esac", output="x\nany\n"),
    Row(what="in a parameter", command="x='a&b'; echo ${x/&/+}", output="a+b\n"),
]

PROMOTED = [
    Row(what="a trailing & makes it a background process", command=f"{LONG} &", promoted=True, running=True, exit_code=None, like="coder"),
    Row(what="also with a comment behind it", command=f"{LONG} & # go", promoted=True, running=True, exit_code=None),
    Row(what="also behind &&", command=f"true && {LONG} &", promoted=True, running=True, exit_code=None),
    Row(what="also with redirections", command=f"{LONG} >/dev/null 2>&1 &", promoted=True, running=True, exit_code=None, like="coder"),
    Row(what="also a pipeline", command=f"{LONG} | cat &", promoted=True, running=True, exit_code=None),
    Row(what="also at the end of a list", command=f"echo first; {LONG} &", promoted=True, running=True, exit_code=None),
    Row(what="also a group", command=f"{{ {LONG}; }} &", promoted=True, running=True, exit_code=None),
    Row(what="also with a here-document", command="cat - /dev/fd/3 3<<EOF &\n&\nEOF", promoted=True, running=None, exit_code=None),
]  # fmt: skip

SURVIVORS = [
    Row(what="a & b", command=f"{LONG} & echo b", output="b\n", survivors=("86399",)),
    Row(what="(x &)", command=f"({LONG} &)", survivors=("86399",)),
    Row(what="x & disown", command=f"{LONG} & disown", survivors=("86399",)),
    Row(what="nohup x &", command=f"nohup {LONG} >/dev/null 2>&1 &", survivors=("86399",), like="mux"),
    Row(what="setsid x", command=f"setsid -f {LONG}", survivors=("86399",), like="codex"),
    Row(
        what="a daemon that forks twice", command=f"(setsid sh -c '{LONG} & exit' &) ; sleep 0.1", survivors=("86399",)
    ),
    Row(what="one that clears its environment as well", command=f"env -i setsid -f {LONG}", survivors=("86399",)),
    Row(what="two of them", command=f"({LONG} & {LONG} &)", survivors=("86399", "86399")),
    Row(what="none, if the command waits for them", command="sleep 0.05 & wait", survivors=()),
]

BACKGROUND = [
    Row(what="background answers at once", command=LONG, more={"background": True}, running=True, exit_code=None, like="coder"),
    Row(what="on time-out it goes on, and the answer has its id", command=f"echo so far; {LONG}", more={"timeout": 0.5},
        running=True, timed_out=True, exit_code=None, output="so far\n", like="codex"),
    Row(what="one that ends in time is not timed out", command="sleep 0.05; echo done", more={"timeout": 20}, output="done\n"),
]  # fmt: skip

TERMINALS = [
    Row(
        what="a terminal of its own",
        command="test -t 0 && test -t 1 && test -t 2 && echo tty",
        more={"tty": True},
        shows="tty",
    ),
    Row(what="which has a size", command="stty size", more={"tty": True}, shows="40 120"),
    Row(what="and is its controlling one", command="echo yes >/dev/tty", more={"tty": True}, shows="yes"),
]

OUTPUT = [
    Row(what="no line end at the end", command="printf abc", output="abc"),
    Row(what="UTF-8 stays whole", command="printf 'ä€🐎'", output="ä€🐎"),
    Row(what="a carriage return stays", command="printf 'a\\rb\\n'", output="a\rb\n"),
    Row(what="a megabyte is a megabyte", command="head -c 1000000 /dev/zero | tr '\\0' x | wc -c", output="1000000\n"),
    Row(what="the last words of a killed one", command="echo last words; kill -9 $$", output="last words\n", exit_code=137, signal="SIGKILL"),
]  # fmt: skip

ROWS = [
    *ENDINGS, *ARGUMENTS, *UNATTENDED, *AMPERSANDS_THAT_ARE_NONE, *PROMOTED, *SURVIVORS, *BACKGROUND, *TERMINALS, *OUTPUT,
]  # fmt: skip
