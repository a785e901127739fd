"""What became somebody else's: the user whose agent started it cannot end it, and the receipt does not hide it."""

from tests.lab.support.instances import LabInstance
from tests.lab.support.users import User


def test_a_process_that_became_root_s_is_named_and_the_receipt_is_not_clean(dev: User, own_directory: object) -> None:
    instance = LabInstance(dev, f"{own_directory}/dev")
    instance.spec(
        '[team]\nname = "shop"\n[agents.a]\n'
        "command = \"sudo -n -i sh -c 'cd /; exec setsid sleep 86433' & exec sleep 1000\"\n"
    )
    instance.corral("up")
    dev.run("sh", "-c", "until pgrep -u root -f 'sleep 86433'; do sleep 0.05; done", timeout=20)
    done = instance.corral("down", "--grace", "0.2", "--json", check=False)
    left = dev.run("pgrep", "-u", "root", "-f", "^sleep 86433", check=False).stdout.split()
    try:
        if left:  # it may have been in the agent's own cgroup, which is killed as a whole, whoever is in it
            assert done.returncode == 5
            assert left[0] in done.stdout
    finally:
        for pid in left:
            dev.run("sudo", "-n", "kill", "-9", pid)
        instance.corral("down", check=False)
        instance.close()
