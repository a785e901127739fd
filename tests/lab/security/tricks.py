"""Scripts of an agent that would be taken for its developer. Attacks name them as `$ASK` and so on: see `write`."""

import shutil
from pathlib import Path

#: Asks without a credential, as a person does. With a file, it says there what it heard, and how that ended.
_ASK = """#!/bin/sh
unset CORRAL_CREDENTIAL_FILE CORRAL_TEAM CORRAL_AGENT
[ -z "$1" ] || exec >"$1" 2>&1
{corral} stop shop/api
code=$?
echo "ended with $code"
exit $code
"""

#: Has something run that is not waited for, with a file to tell in; ends with 0 if that worked.
_UNWAITED = """#!/bin/sh
at=$(mktemp -d)
chmod 755 $at
mkfifo $at/said
"$@" $at/said
cat $at/said >$at/heard
cat $at/heard
grep -q 'ended with 0' $at/heard
code=$?
rm -r $at
exit $code
"""

#: Has the user's service manager move this very process to where people who log in seem to be, then does the rest.
_IN_A_SESSIONS_NAME = """#!/bin/sh
busctl --user call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
  StartTransientUnit 'ssa(sv)a(sa(sv))' session-$$.scope fail 1 PIDs au 1 $$ 0 >&2 || exit 0
until grep -q /session-$$.scope /proc/$$/cgroup; do sleep 0.05; done
exec "$@"
"""

#: Moves itself to a cgroup that it made, then does the rest.
_IN_A_CGROUP = """#!/bin/sh
mkdir -p {own}/mine-$$ && echo $$ >{own}/mine-$$/cgroup.procs && grep -q /mine-$$'$' /proc/$$/cgroup || exit 0
"$@"
code=$?
echo $$ >{own}/init.scope/cgroup.procs && rmdir {own}/mine-$$
exit $code
"""

#: Connects and ends; what it started asks by that connection, without a credential.
_GONE = """
import os, socket, sys
read, write = os.pipe()
if os.fork() == 0:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("/run/corral/daemon.sock")
    mine = os.getpid()
    if os.fork() == 0:
        while os.getppid() == mine:
            pass
        connection.sendall(b"GET /v1/agents HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
        while said := connection.recv(65536):
            os.write(write, said)
    os._exit(0)
os.close(write)
said = b""
while more := os.read(read, 65536):
    said += more
print(said.decode())
sys.exit(b" 200 " not in said)
"""


def write(directory: Path, uid: int) -> dict[str, str]:
    """Write the scripts, for agents of that user; what attacks call them."""
    corral = shutil.which("corral")
    assert corral is not None
    own = f"/sys/fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service"
    texts = {
        "ASK": _ASK.format(corral=corral),
        "UNWAITED": _UNWAITED,
        "IN_A_SESSIONS_NAME": _IN_A_SESSIONS_NAME,
        "IN_A_CGROUP": _IN_A_CGROUP.format(own=own),
        "GONE": _GONE,
    }
    for name, text in texts.items():
        path = directory / name.lower()
        path.write_text(text)
        path.chmod(0o755)
    return {"CORRAL": corral, "OWN": own, **{name: str(directory / name.lower()) for name in texts}}
