"""The server that is attacked: what ann has there, and how others get at it."""

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.security import trap, tricks
from tests.lab.security.attacks import DAEMON, SPY, WEB
from tests.lab.support.people import daemon, keeper, leave, pids, repository, spec
from tests.lab.support.shared import add_member, as_daemon, shared_server, system, tidy
from tests.lab.support.users import Result, User, cgroup
from tests.support.waiting import wait_for

ANN, BEN, CLEO = User("ann"), User("ben"), User("cleo")
#: Nobody but ann may ever be shown this. What the environment of her agent has is longer: logs mask that, and not this.
CANARY = "canary-of-ann"

_SHOP = f"""
[team]
name = "shop"
repo = "."
[recording]
on = true
[agents.api]
command = ["bash", "--norc", "--noprofile"]
env = {{ HISTFILE = "/dev/null", ANNS_TOKEN = "{CANARY}-token" }}
[agents.web]
command = ["bash", "--norc", "--noprofile"]
env = {{ HISTFILE = "/dev/null" }}
[agents.talker]
command = ["corral", "demo-agent"]
"""
_MILL = """
[team]
name = "mill"
[agents.spy]
command = ["bash", "--norc", "--noprofile"]
env = { HISTFILE = "/dev/null" }
"""

#: One request to the daemon: METHOD TARGET BODY HEADER... Says status and answer; ends with 0 if it was done.
_RAW = """
import http.client, socket, sys
connection = http.client.HTTPConnection("corral", timeout=20)
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.settimeout(20)
connection.sock.connect("/run/corral/daemon.sock")
headers = dict(one.split(": ", 1) for one in sys.argv[4:])
connection.request(sys.argv[1], sys.argv[2], sys.argv[3] or None, headers)
answer = connection.getresponse()
print(answer.status, answer.read().decode())
sys.exit(answer.status >= 400)
"""
#: The same over TCP: METHOD TARGET HEADER...
_FAR = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", %d, timeout=20)
connection.request(sys.argv[1], sys.argv[2], None, dict(one.split(": ", 1) for one in sys.argv[3:]))
answer = connection.getresponse()
print(answer.status, answer.read().decode())
sys.exit(answer.status >= 400)
"""
#: Where the daemon is reached by everybody on this host.
PORT = 17700
#: Of one user: an eighth of the files that the daemon may have open. By itself that is more than a test can open soon.
MOST_CONNECTIONS = 1024
_FEWER_FILES = Path("/run/systemd/system/corral.service.d/files.conf")


class Ground:
    """Ann's team is up, with a secret in everything that it has. Ben has an agent as well."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (directory / "raw.py").write_text(_RAW)
        (directory / "far.py").write_text(_FAR % PORT)
        token = json.loads(ANN.run("corral", "token", "add", "--json").stdout)
        self.trap = directory / "trap"
        trap.set_trap(self.trap)
        self._attacker = -1
        host = f"{ANN.runtime_dir}/corral-host"
        self.ended = Path(f"{host}/launch/shop/web.credential").read_text().strip()
        ANN.run("corral", "restart", "shop/web")
        self.daemon, self.pids = daemon(), pids(ANN)
        state = f"{ANN.home}/.local/state/corral-host"
        (recording,) = json.loads(ANN.run("corral", "replay", "shop/api", "--list", "--json").stdout)
        #: Variables of every attack.
        self.names = {
            "RAW": f"python3 {directory}/raw.py",
            "FAR": f"python3 {directory}/far.py",
            "TOKEN": token["token"],
            "TOKEN_ID": token["id"],
            "TRAP": str(self.trap),
            "PID": str(self.pids["shop", "api"]),
            "OF_WEB": str(self.pids["shop", "web"]),
            "KEEPER": str(keeper(ANN)),
            "DAEMON": str(self.daemon),
            "ANN": str(ANN.uid),
            "TMUX_OF_ANN": f"{host}/tmux/shop.sock",
            "LAUNCH": f"{host}/launch/shop",
            "OUTPUT": f"{state}/logs/shop/api.log",
            "RECORDINGS": f"{state}/recordings/shop/api",
            "RECORDING": recording["recording"],
            "WORK": "/srv/corral/ann/shop/api",
            "HELPER": "/usr/local/libexec/corral/helper",
            "AGENTS": Path(f"{host}/launch/shop/api.credential").read_text().strip(),
            "ENDED": self.ended,
            "PLACE_OF_API": f"/sys/fs/cgroup{cgroup(self.pids['shop', 'api'])}",
            "SESSIONS": f"/sys/fs/cgroup/user.slice/user-{ANN.uid}.slice/session-*.scope",
            **tricks.write(directory, ANN.uid),
        }
        assert Path(self.names["TMUX_OF_ANN"]).is_socket()
        for name in ("OUTPUT", "RECORDINGS", "WORK"):
            assert os.path.exists(self.names[name]), name

    def attempt(self, who: str, what: str) -> Result:
        """Have them try it."""
        script = self.script(what)
        user = {WEB: ANN, SPY: BEN}.get(who, User(who))
        trap.forget(self.trap)
        self._attacker = user.uid
        if who == DAEMON:
            return as_daemon("sh", "-c", script)
        if who in (WEB, SPY):
            return user.run("corral", "exec", who, "--", "sh", "-c", script, check=False)
        return user.run("sh", "-c", script, check=False)

    def script(self, what: str) -> str:
        """A line of shell with the variables of every attack; all that it says is on standard output."""
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.names.items())
        return f"{exports}{{ {what}\n}} 2>&1"

    def harm(self) -> list[str]:
        """What is not as it was: nothing, or an attack worked."""
        found = []
        if daemon() != self.daemon:
            found.append("the daemon is another one")
        # By what root sees, since asking costs more than most attacks; whoever asks is asked when all are over.
        found += [f"{key} has gone" for key, pid in self.pids.items() if not os.path.exists(f"/proc/{pid}")]
        if b"owned" in Path(self.names["OUTPUT"]).read_bytes():
            found.append("somebody typed")
        found += [f"there is {path}" for path in ("/tmp/owned", "/etc/owned", "/root/owned") if os.path.lexists(path)]
        # Into a trap of one's own everybody may go.
        found += [f"user {uid} was led into the trap" for uid in trap.caught(self.trap) - {self._attacker}]
        work = Path(self.names["WORK"], "secret").read_text()
        if work != f"{CANARY}\n":
            found.append(f"the workspace has {work!r}")
        return found


@contextmanager
def attacked(directory: Path) -> Iterator[Ground]:
    """A server to attack, of which nothing is left."""
    with shared_server(ANN, BEN):
        Path("/var/lib/corral/config.toml").write_text(f'[listen]\naddress = "127.0.0.1:{PORT}"\n')
        _FEWER_FILES.parent.mkdir()
        _FEWER_FILES.write_text(f"[Service]\nLimitNOFILE={8 * MOST_CONNECTIONS}\n")
        system("systemctl", "daemon-reload")
        system("systemctl", "restart", "corral.service")
        add_member(CLEO)
        try:
            repository(ANN, "shop")
            ANN.run("corral", "up", cwd=spec(ANN, "shop", _SHOP))
            BEN.run("corral", "up", cwd=spec(BEN, "mill", _MILL))
            ANN.run("sh", "-c", f"echo {CANARY} >/srv/corral/ann/shop/api/secret")
            ANN.run("corral", "send", "shop/api", f"echo {CANARY}")
            wait_for(lambda: CANARY in ANN.run("corral", "logs", "shop/api").stdout, what="the canary is on the screen")
            # What runs their commands comes with the first one, and stays.
            ANN.run("corral", "exec", WEB, "--", "true")
            BEN.run("corral", "exec", SPY, "--", "true")
            ground = Ground(directory)
            yield ground
            assert pids(ANN) == ground.pids, "all agents are who they were"
            assert json.loads(system("corral", "audit", "verify", "--json").stdout)["ok"], (
                "the trail holds after all that"
            )
        finally:
            leave(ANN, BEN)
            system("rm", "-r", str(_FEWER_FILES.parent))
            system("systemctl", "daemon-reload")
            tidy(ANN, BEN)
