"""The review of the privileged helper: everything that it imports, calls and can be asked for, as lists.

Whoever changes the helper changes a list here, and says with that: yes, root shall do this as well.
"""

import ast
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from corral.domain import host_names
from corral.privileged import helper

SOURCE = Path(helper.__file__)
TREE = ast.parse(SOURCE.read_text(encoding="utf-8"))

VERBS = {
    "keeper_start": ("user",),
    "keeper_stop": ("user",),
    "keeper_directory": ("user",),
    "workspace": ("user", "path", "group", "mode"),
    "linger": ("user", "state"),
}

#: Modules of the standard library, and the module that only a type checker loads.
IMPORTS = set("contextlib grp json os pwd re resource signal stat sys syslog __future__ collections.abc".split())

#: What has an effect, or asks the system. Reading and changing of who we are is in `become` alone, see below.
SYSTEM_CALLS = set(
    """
    contextlib.suppress
    grp.getgrnam pwd.getpwnam pwd.getpwuid
    json.dumps json.loads re.compile
    os._exit os.chdir os.close os.closerange os.dup2 os.execve os.fchmod os.fchown os.fork os.fstat os.geteuid
    os.getgrouplist os.getgroups os.getresgid os.getresuid os.initgroups os.kill os.lstat os.mkdir os.open
    os.path.lexists os.path.normpath os.pipe os.read os.setresgid os.setresuid os.setsid os.umask os.unlink os.waitpid
    os.waitstatus_to_exitcode os.write
    resource.setrlimit
    signal.alarm signal.pthread_sigmask signal.signal
    stat.S_ISDIR stat.S_ISREG
    sys.exit
    syslog.openlog syslog.syslog
    """.split()
)
BUILT_IN = set("ValueError all any dict int isinstance len range repr set str super".split())

#: Function → who calls it. What makes us another user is called in a child alone, and the shell by nobody.
CALLERS = {
    "become": {"rest"},
    "in_a_child": {"run", "workspace"},
    "make_path": {"rest"},
    "os.execve": {"program"},
    "os.fork": {"in_a_child"},
    "os.initgroups": {"become"},
    "os.setresuid": {"become"},
    "os.setresgid": {"become"},
    "os.kill": {"in_a_child"},
    "os.unlink": {"linger"},
    "perform": {"main"},
    "served": {"perform"},
    "check_caller": {"main"},
}


def name_of(node: ast.expr) -> str:
    """`os.path.join` of such a call; an empty first part for a method of some value."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{name_of(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def calls() -> Iterator[tuple[str, str]]:
    """Each call with the innermost function it is in."""

    def within(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.Call):
                yield name_of(child.func), function
            yield from within(child, inner)

    return within(TREE, "")


def own_functions() -> set[str]:
    return {node.name for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def modules() -> set[str]:
    found = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_it_can_be_asked_for_this_and_nothing_else() -> None:
    assert VERBS == helper.FIELDS
    assert set(helper.PATTERNS) == {field for fields in VERBS.values() for field in fields}


def test_it_imports_this_and_nothing_else() -> None:
    assert modules() == IMPORTS


def test_it_calls_this_of_the_system_and_nothing_else() -> None:
    named = {name for name, _ in calls() if name.partition(".")[0] in IMPORTS | {"os"}}
    assert named == SYSTEM_CALLS


def test_what_it_names_of_the_system_without_calling_it_is_data_and_no_function_that_others_could_call() -> None:
    called = {id(node.func) for node in ast.walk(TREE) if isinstance(node, ast.Call)}
    within = {id(node.value) for node in ast.walk(TREE) if isinstance(node, ast.Attribute)}
    named = {
        name_of(node)
        for node in ast.walk(TREE)
        if isinstance(node, ast.Attribute)
        and id(node) not in called | within
        and name_of(node).partition(".")[0] in IMPORTS
    }
    constants = ("O_", "S_", "LOG_", "SIG", "RLIMIT_", "ASCII")
    others = {name for name in named if not name.rpartition(".")[2].startswith(constants)}
    assert others == {"os.environ", "pwd.struct_passwd", "sys.argv"}


def test_all_else_that_it_calls_is_its_own_or_built_in_or_a_method_of_a_value() -> None:
    plain = {name for name, _ in calls() if name and "." not in name}
    assert plain - own_functions() - {"work"} == BUILT_IN
    words = "__init__ decode encode fullmatch get isprintable join split startswith strip values".split()
    methods = {name.rpartition(".")[2] for name, _ in calls() if "." in name and name not in SYSTEM_CALLS}
    assert methods == set(words)


def test_what_is_dangerous_is_called_in_one_place() -> None:
    for function, callers in CALLERS.items():
        assert {caller for name, caller in calls() if name == function} == callers, function


def test_it_starts_two_programs_by_their_full_path_and_with_fixed_words() -> None:
    texts = {node.value for node in ast.walk(TREE) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert {text for text in texts if text.startswith("/usr/bin/")} == {"/usr/bin/systemctl", "/usr/bin/loginctl"}
    started = [
        ast.unparse(node.args[0])
        for node in ast.walk(TREE)
        if isinstance(node, ast.Call) and name_of(node.func) == "run"
    ]
    assert sorted(started) == [
        "[LOGINCTL, 'disable-linger', name]",
        "[LOGINCTL, 'enable-linger', name]",
        "[SYSTEMCTL, '--no-ask-password', 'show', '--property=ActiveState', '--value', unit]",
        "[SYSTEMCTL, '--no-ask-password', 'start', f'user@{user.pw_uid}.service']",
        "[SYSTEMCTL, '--no-ask-password', 'start', f'{KEEPER_PLACE}@{user.pw_uid}.service']",
        "[SYSTEMCTL, '--no-ask-password', 'start', f'{KEEPER_START}@{user.pw_uid}.service']",
        "[SYSTEMCTL, '--no-ask-password', 'start', f'{KEEPER_STOP}@{user.pw_uid}.service']",
    ]


def test_it_opens_nothing_through_a_link() -> None:
    opens = [
        ast.unparse(node) for node in ast.walk(TREE) if isinstance(node, ast.Call) and name_of(node.func) == "os.open"
    ]
    followed = [text for text in opens if "O_NOFOLLOW" not in text]
    assert sorted(followed) == [
        "os.open('/', os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)",
        "os.open('/dev/null', os.O_RDWR)",
    ]
    assert all("O_CLOEXEC" in text for text in opens if "/dev/null" not in text)


def test_it_names_the_same_places_as_the_set_up() -> None:
    assert helper.DAEMON == host_names.USER
    assert helper.GROUPS == (host_names.MEMBERS, host_names.AGENTS)
    assert helper.PROGRAM == host_names.HELPER
    assert helper.KEEPERS == host_names.KEEPERS
    assert helper.SETTINGS == host_names.SETTINGS
    assert helper.LINGER_NOTES == host_names.LINGER_NOTES
    assert f"{helper.KEEPER_START}@.service" == host_names.KEEPER_START
    assert f"{helper.KEEPER_PLACE}@.service" == host_names.KEEPER_PLACE
    assert f"{helper.KEEPER_STOP}@.service" == host_names.KEEPER_STOP


def test_it_starts_no_program_as_anybody_but_root() -> None:
    """A process of a user's that it started would be in the daemon's unit."""
    (program,) = (node for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef) and node.name == "program")
    assert [name_of(node.func) for node in ast.walk(program) if isinstance(node, ast.Call)] == ["os.execve"]
    (rest,) = (node for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef) and node.name == "rest")
    assert [name_of(node.func) for node in ast.walk(rest) if isinstance(node, ast.Call)] == ["become", "make_path"]


def test_it_is_small_and_runs_alone_in_an_isolated_python() -> None:
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) < 440
    assert SOURCE.read_text(encoding="utf-8").startswith("#!/usr/bin/python3 -IS\n")
    assert stat.S_IMODE(os.stat(SOURCE).st_mode) & 0o100
    loads = "import sys; sys.argv = ['x']; import runpy; runpy.run_path(sys.orig_argv[-1], run_name='reviewed')"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{loads}; print(sorted(n for n in sys.modules if 'corral' in n))", SOURCE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
