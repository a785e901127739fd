"""What is done with a `&`, form by form."""

import subprocess
from pathlib import Path

import pytest

from corral.domain.shell_syntax import MAX_LENGTH, analyse

#: The last item is put into the background: it is run without its `&`, which is written as ＆ here.
PROMOTED = [
    "server ＆",
    "server＆",
    "server ＆\n",
    "server ＆ \\\n",
    "server \\\n  --port 80 \\\n  ＆",
    "\n\n# first\nserver ＆ # comment &\n# last\n",
    "cd web && server ＆",
    "cd web || exit; server ＆",
    "a; b ＆",
    "a & b ＆",
    "a &\nb ＆",
    "a\nb\nc ＆\n",
    "a | b ＆",
    "a |& b ＆",
    "server >log 2>&1 ＆",
    "server >&2 ＆",
    "server &>/dev/null ＆",
    "server &>>log </dev/null ＆",
    "server 2>&1＆",
    "server > >(tee log) ＆",
    "PORT=80 server ＆",
    "PORT=80 ＆",
    "A=(b c) server ＆",
    "! a ＆",
    "time a ＆",
    "time -p { a; } ＆",
    "{ a; b; } ＆",
    "(a; b) ＆",
    "( (a) ) ＆",
    "((a=1)) ＆",
    "[[ -n a && b == c* ]] ＆",
    "if a; then b; elif c; then d; else e; fi ＆",
    "while a; do b; done ＆",
    "until a; do b; done >log ＆",
    "for x in a b; do c & done ＆",
    "for ((i=0; i<3; i++)); do a; done ＆",
    "select x in a; do b; done ＆",
    "case $x in a|b) c ;; *) d & ;; esac ＆",
    "f() { a & }; f ＆",
    "f() { a; } ＆",
    "source env/bin/activate && python server.py ＆",
    "exec server ＆",
    "wait; server ＆",
    "kill $(jobs -p); server ＆",
    "curl http://h/?a=1&b=2 ＆",
    "cat <<EOF ＆\nhi & \n $(x &) EOF\nEOF\n",
    "cat <<'EOF' >file && server ＆\n$(\nEOF\n",
    "cat <<EOF >file; server ＆\nhi\nEOF",
    "cat >file <<EOF\n  EOF\nEOF x\nEOF\nserver ＆",
    "cat <<-EOF\n\t\tEOF\nserver ＆",
    "cat <<A <<B ＆\nA\nB\n",
    "python3 - <<'EOF' >log 2>&1 ＆\nprint('a and b')\nEOF\n",
    "printf 'a\\n' | tee $'it\\'s' \"$(date '+%s')\" ${x:-\"}\"} `id` ＆",
    "echo 'über' 日本 \udcff ＆",
]

#: Nothing is put into the background.
NOT_BACKGROUND = [
    "",
    "# server &",
    "a # &",
    "echo '&'",
    "echo 'a' ' &'",
    'echo "a &"',
    "echo $'it\\'s &'",
    "echo \\&",
    "echo a\\ \\&",
    "a && b",
    "a &&\nb",
    "a |& b",
    "a &>b",
    "a &>>b",
    "a 2>&1",
    "a >&b",
    "a <&3",
    "a >&-",
    "echo $((1 & 2))",
    "((1 & 2))",
    "[[ a && b ]]",
    "[[ a =~ (a|&) ]]",
    "case a in a) b ;& c) d ;;& esac",
    "case a in '&') b ;; \\&) c ;; esac",
    "echo ${x:-&}",
    'echo "${x:-a & b}"',
    "a[1 & 2]=3",
    "A=([1&2]=3)",
    "cat <<EOF\na &\nEOF",
    "cat <<'EOF'\n$(a &\nEOF",
    "cat <<< '&'",
    'eval "server &"',
    "sh -c 'server &'",
    "nohup server",
]

#: Run as written, and something in it may outlive its shell.
RUN_AS_WRITTEN = [
    "a & b",
    "server & echo $!",
    "server &\nsleep 1\ncurl localhost",
    "server &\r\n",
    "(server &)",
    "(server &) &&\na",
    "{ server & }",
    "server & disown",
    "server & wait",
    "{ a & wait; } &",
    "f() { wait; }; a & f &",
    "nohup server &",
    "nohup server >log 2>&1 &",
    "cd web && nohup server &",
    "A=1 nohup server &",
    "env A=1 nohup server &",
    "exec nohup server &",
    "sudo -u somebody nohup server &",
    "/usr/bin/nohup server &",
    "(nohup server) &",
    "setsid server",
    "setsid server &",
    "exec setsid server",
    "if a; then server & fi",
    "while a; do b & done",
    "case a in a) b & ;; esac",
    "f() { server & }",
    "echo $(server &)",
    'echo "$(server &)"',
    "cat <(server &)",
    "coproc server",
    # The shell would run its trap later, and what is in the background reads nothing.
    "trap 'rm file' EXIT; server &",
    "exec <file; cat &",
    # They tell one shell from another.
    "echo $BASH_SUBSHELL &",
    "echo ${BASHPID} >pid; server &",
    "eval 'echo $BASHPID' &",
]

#: No commands, or not known to be any. bash will say it better.
NOT_UNDERSTOOD = [
    "&",
    "a & ;",
    "a ;& b",
    "a && &",
    "a &\n&",
    "a & & b",
    "time &",
    "! &",
    "a | &",
    "a > &",
    "a 'b &",
    'a "b &',
    "a $(b &",
    "a ${b &",
    "a `b &",
    "if a; then b &",
    "fi &",
    "{ a } &",
    "(a &",
    "a) &",
    "a (b) &",
    "case a in b &",
    "[[ a b ]] &",
    "[[ a & ]] &",
    "cat <<EOF &",
    "cat <<EOF\n EOF\nserver &",
    "cat <<-EOF\n  EOF\nserver &",
    "cat <<EOF\na\\\nEOF\nserver &",
    "((a <<EOF\nEOF\n) ) &",
    "a <<EOF; A=(b\nEOF\n) &",
    "a & \\",
    "a &\0",
]


@pytest.mark.parametrize("written", PROMOTED)
def test_a_last_item_in_the_background_is_promoted(written: str) -> None:
    found = analyse(written.replace("＆", "&"))
    assert (found.promoted, found.command) == (True, written.replace("＆", " "))


@pytest.mark.parametrize("command", NOT_BACKGROUND)
def test_any_other_ampersand_is_left_alone(command: str) -> None:
    found = analyse(command)
    assert (found.promoted, found.backgrounds, found.command) == (False, False, command)


@pytest.mark.parametrize("command", RUN_AS_WRITTEN)
def test_mixed_forms_run_as_they_are_written(command: str) -> None:
    found = analyse(command)
    assert (found.promoted, found.backgrounds, found.command) == (False, True, command)


@pytest.mark.parametrize("command", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_left_alone(command: str) -> None:
    found = analyse(command)
    assert (found.promoted, found.portable, found.command) == (False, False, command)


@pytest.mark.parametrize(
    ("command", "backgrounds"),
    [("server &", False), ("a & server &", True), ("(a &); server &", True), ("setsid a; server &", True)],
)
def test_what_else_is_in_the_background_of_a_promoted_command(command: str, backgrounds: bool) -> None:
    found = analyse(command)
    assert (found.promoted, found.backgrounds) == (True, backgrounds)


@pytest.mark.parametrize(
    ("command", "portable"),
    [
        ("cd web && PORT=${PORT:-80} server >log 2>&1 &", True),
        ("for x in a b; do case $x in a) b;; esac; done &", True),
        ("cat <<EOF &\n$(a)\nEOF", True),
        ("f() { a; }; f | b &", True),
        ("server &>log &", False),
        ("a |& b &", False),
        ("a <<<b &", False),
        ("a <(b) &", False),
        ("[[ a ]] && b &", False),
        ("((a)) && b &", False),
        ("A=(b) c &", False),
        ("A+=b c &", False),
        ("a $'b' &", False),
        ("a ${b/c/d} &", False),
        ("function f { a; }; f &", False),
        ("a {fd}>b &", False),
        ("case a in b) c;& d) e;; esac &", False),
    ],
)
def test_what_every_shell_reads_alike(command: str, portable: bool) -> None:
    found = analyse(command)
    assert (found.promoted, found.portable) == (True, portable)


# Nothing can be given to it that it does not survive.


@pytest.mark.parametrize(
    "opening",
    ["(", "((", "{ ", "$(", '"$(', "${x:-", "<(", "[[ (", "$((", "a=(", "if a; then ", "f() { ", "case a in b) "],
)
def test_deep_nesting_is_given_up(opening: str) -> None:
    for command in (opening * 10_000, opening * 10_000 + " server &"):
        assert analyse(command).command == command


@pytest.mark.parametrize(
    "piece", ["a & ", "a|", "a;", "x\n", "<<A ", "! ", "'a'", "$a", "\\a", "# a\n", "\\\n", "a=(b) ", "$(a)", "`"]
)
def test_long_texts_are_taken(piece: str) -> None:
    command = piece * (MAX_LENGTH // len(piece) - 2) + "\nserver &"
    assert analyse(command).command in (command, command.removesuffix("&") + " ")


def test_a_long_here_document_does_not_count() -> None:
    command = "cat >file <<'EOF'\n" + 'if (a && b) { c("\'"); }\n' * 4000 + "EOF\nserver &"
    assert analyse(command).promoted


def test_what_is_too_long_to_be_run_is_not_looked_at() -> None:
    command = "a" * MAX_LENGTH + " &"
    assert not analyse(command).promoted


def test_a_text_that_cannot_be_encoded_is_taken() -> None:
    assert analyse("echo \ud800 &").command == "echo \ud800  "


# Real bash: without that `&`, a command does what it does with it and a shell that waits.


@pytest.mark.parametrize(
    "command",
    [
        "echo a; echo b &",
        "cd sub && pwd >../where &",
        "A=1; A=2 sh -c 'echo $A' &",
        "echo a | tr a b &",
        "{ echo a; false; echo b; } &",
        "(cd sub; touch made; echo $?) &",
        "for x in 1 2 3; do echo $x; done >numbers &",
        "if false; then echo a; else echo b; fi &",
        "cat <<EOF &\n$((1 & 3)) 'a' $(echo b) \\\nc\nEOF\n",
        "cat >file <<'EOF'; cat file &\n$x &\nEOF\n",
        "f() { echo $#; }; f 'a b' c &",
        'set -- "a b" c; printf "%s," "$@" &',
        "x=1; { x=2; echo $x; } & # and that was it",
        "exec 3>three; echo a >&3 &",
        "echo $$ | grep -c . &",
        "cat &",
        "exit 3 &",
        "shopt -s nullglob; echo none* &",
        "case a in a) echo b ;& c) echo d ;; esac &",
        "[[ a == a && b == b ]] && echo c &",
        "while read -r line; do echo \"<$line>\"; done <<< $'a\\nb' &",
        "diff <(echo a) <(echo b) >out &",
    ],
)
def test_a_promoted_command_does_the_same(command: str, tmp_path: Path) -> None:
    promoted = analyse(command)
    assert promoted.promoted
    as_written = outcome(f"{command}\nwait", tmp_path / "as-written")
    assert outcome(promoted.command, tmp_path / "promoted") == as_written


def outcome(command: str, directory: Path) -> tuple[bytes, bytes, dict[str, bytes]]:
    """What a command prints, and what files it leaves."""
    (directory / "sub").mkdir(parents=True)
    done = subprocess.run(
        ["bash", "-c", command], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    files = {
        str(path.relative_to(directory)): path.read_bytes().replace(str(directory).encode(), b"HERE")
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    return done.stdout, done.stderr, files
