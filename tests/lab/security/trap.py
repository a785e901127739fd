"""A directory of ben's with what programs load if their environment tells them to. Whoever does is caught.

`TRICKS` are variables that lead there, each with a command that follows it: by that the trap is tried before anybody
is led into it, since a trap that catches nobody would prove nothing.
"""

import struct
import sys
from pathlib import Path

_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_MODULES = ("json", "pwd", "grp", "sitecustomize", "usercustomize", "syslog", "msgspec", "corral", "uvicorn")
_PROGRAMS = ("python3", "systemctl", "loginctl", "sh", "tmux", "git", "sudo")
_HOOKS = ("post-checkout", "post-index-change", "pre-commit", "reference-transaction")

#: The library that `ls` needs and other programs do not.
_OF_LS = "libselinux.so.1"
_STATUS = "at=$(mktemp -d); /usr/bin/git init --quiet $at && /usr/bin/env {} /usr/bin/git -C $at status; rm -r $at"
#: Variable → what an attacker gives it, and what follows it. `{}` is the variable with its value.
TRICKS = {
    "PATH": ("$TRAP:$PATH", "/usr/bin/env {} git"),
    "PYTHONPATH": ("$TRAP", "/usr/bin/env {} python3 -c 'import json'"),
    "PYTHONHOME": ("$TRAP", "/usr/bin/env {} /usr/bin/python3 -c pass"),
    "PYTHONSTARTUP": ("$TRAP/json.py", "/usr/bin/env {} python3 -S -i </dev/null"),
    "PYTHONUSERBASE": ("$TRAP", "/usr/bin/env {} /usr/bin/python3 -c pass"),
    "LD_PRELOAD": ("$TRAP/evil.so", "/usr/bin/env {} true"),
    "LD_AUDIT": ("$TRAP/evil.so", "/usr/bin/env {} true"),
    "LD_LIBRARY_PATH": ("$TRAP", "/usr/bin/env {} ls /"),
    "BASH_ENV": ("$TRAP/sh", "/usr/bin/env {} bash -c true"),
    "ENV": ("$TRAP/sh", "/usr/bin/env {} /bin/sh -i -c true"),
    "GIT_CONFIG_GLOBAL": ("$TRAP/.gitconfig", _STATUS),
    "HOME": ("$TRAP", _STATUS),
}


def led(*but: str) -> str:
    """The words for `env` that lead a program into the trap by every trick but these."""
    return " ".join(f"{name}={value}" for name, (value, _) in TRICKS.items() if name not in but)


def set_trap(directory: Path) -> None:
    """Put all of it there, where everybody can read it."""
    directory.mkdir(mode=0o755)
    spring, mark = directory / "spring", directory / "sprung"
    # One after the other: whoever is caught must be able to say so, whoever was before.
    mark.touch()
    mark.chmod(0o666)
    _script(spring, f"/usr/bin/id -u >>{mark}")
    for name in _PROGRAMS:
        _script(directory / name, str(spring))
    library = directory / "lib" / _PYTHON
    site = library / "site-packages"
    for made in (directory / "hooks", library / "encodings", site):
        made.mkdir(parents=True)
    for name in _HOOKS:
        _script(directory / "hooks" / name, str(spring))
    # What an interpreter loads first of all is loaded before it could load anything but what is built in.
    caught = f"import posix\nposix.system({str(spring)!r})\n"
    modules = [directory / f"{name}.py" for name in _MODULES]
    for path in (*modules, library / "encodings" / "__init__.py", site / "usercustomize.py"):
        path.write_text(caught)
    (directory / "evil.so").write_bytes(_library(str(spring)))
    # One that is found before the real one has to bring that along: else nothing would start that needs it.
    (directory / _OF_LS).write_bytes(_library(str(spring), f"/lib/x86_64-linux-gnu/{_OF_LS}"))
    text = f"[core]\n\tfsmonitor = {spring}\n\thooksPath = {directory}/hooks\n\tpager = {spring}\n"
    (directory / ".gitconfig").write_text(f"{text}[safe]\n\tdirectory = *\n")


def caught(directory: Path) -> set[int]:
    """The users who were led into it."""
    return set(map(int, (directory / "sprung").read_text().split()))


def forget(directory: Path) -> None:
    """Have it be as if nobody had been caught."""
    (directory / "sprung").write_text("")


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _library(program: str, needs: str = "") -> bytes:
    """A shared library for x86-64 that runs a program and waits for it; it has no symbols. There is no compiler here.

    It may need another library, which is loaded with it.
    """
    child = "488d3d{} 6a00 57 4889e6 31d2 b83b000000 0f05 bf7f000000 b83c000000 0f05"  # execve(program), or exit(127)
    parent = "89c7 31f6 31d2 4531d2 b83d000000 0f05 c3"  # wait4(child), return
    fork = "b839000000 0f05 85c0 7522"  # which of both goes on
    # The program's name is behind the code, so far from the instruction that takes it.
    far = len(bytes.fromhex(child.format("00000000") + parent)) - 7
    code = bytes.fromhex(f"{fork} {child.format(struct.pack('<i', far).hex())} {parent}") + program.encode() + b"\0"
    names = b"\0" + needs.encode() + b"\0"
    # All of the file is one segment, at 0: headers, what the loader reads, names, an empty symbol, no hashes, code.
    tags = 8 if needs else 7
    dynamic = 64 + 3 * 56
    symbols = dynamic + 16 * tags
    hashes = symbols + 24
    begin = hashes + 16
    strings = begin + len(code)
    end = strings + len(names)
    loader = [(4, hashes), (5, strings), (6, symbols), (10, len(names)), (11, 24), (12, begin), (0, 0)]
    loader = [(1, 1), *loader] if needs else loader
    return b"".join(
        (
            b"\x7fELF\x02\x01\x01" + bytes(9),
            struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0),
            struct.pack("<IIQQQQQQ", 1, 7, 0, 0, 0, end, end, 4096),
            struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, 16 * tags, 16 * tags, 8),
            # Without this one the stack would have to be executable, which the loader refuses.
            struct.pack("<IIQQQQQQ", 0x6474E551, 6, 0, 0, 0, 0, 0, 16),
            *(struct.pack("<QQ", *one) for one in loader),
            bytes(24),
            struct.pack("<IIII", 1, 1, 0, 0),
            code,
            names,
        )
    )
