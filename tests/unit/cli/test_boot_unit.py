"""The unit that has the service manager bring teams back after a reboot."""

import configparser

from corral.cli.boot_unit import unit
from corral.own_command import own_command
from corral.places import Places


def test_it_says_up_with_the_directories_of_now_and_ends_nothing_with_itself() -> None:
    text = unit(Places(home="/h", runtime="/r"), {"CORRAL_HOME": "/h", "PATH": '/a b:/100%/"c"'})
    read = configparser.RawConfigParser(strict=False)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(text)
    service = dict(read["Service"])
    assert service["ExecStart"] == " ".join(f'"{word}"' for word in own_command("up", "--all", "--service"))
    assert (service["Type"], service["KillMode"]) == ("oneshot", "process")
    assert read["Install"]["WantedBy"] == "default.target"
    assert 'Environment="CORRAL_HOME=/h"\n' in text
    assert 'Environment="PATH=/a b:/100%%/\\"c\\""\n' in text, "as systemd reads it"
