"""Gates of the merge queue under systemd: in a scope of the team, which goes with all that they started."""

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import corral_units, pid_from
from tests.support.processes import is_alive

_TEAM = """
[team]
name = "shop"
repo = "repo"

[agents.api]
command = ["sleep", "1000"]

[merge]
gates = ["{gate}"]
"""
#: Tells where it is, and leaves somebody behind who does not want to be found.
_GATE = "cat /proc/self/cgroup; setsid sh -c 'echo $$ > {directory}/left; exec sleep 1000' >/dev/null 2>&1 & sleep 0.5"
_COMMIT = """
cd "$1" && echo 1 > new && git add -A && git commit --quiet --message=New
"""


def test_a_gate_is_in_a_scope_of_its_team_and_goes_with_all_that_it_started(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    lab_instance.repo()
    lab_instance.spec(_TEAM.format(gate=_GATE.format(directory=lab_instance.directory)))
    lab_instance.corral("up")
    workspace = f"{lab_instance.home}/worktrees/shop/api"
    ann.run("sh", "-ec", _COMMIT, "-", workspace)
    done = lab_instance.json("merge", "submit", "--agent", "api", "--wait", "60s")

    (gate,) = done["gates"]
    assert (done["state"], gate["passed"], gate["left"]) == ("merged", True, 1), done
    slice_of_team = f"/user.slice/user-{ann.uid}.slice/user@{ann.uid}.service/corral.slice/corral-shop.slice"
    (where,) = [line for line in gate["output"].splitlines() if line.startswith("0::")]
    assert where == f"0::{slice_of_team}/corral-shop-_merge.scope"
    assert not is_alive(pid_from(f"{lab_instance.directory}/left"))
    assert "corral-shop-_merge.scope" not in corral_units(ann)

    assert lab_instance.json("down")["clean"] is True
    assert not [name for name in corral_units(ann) if "shop" in name]
