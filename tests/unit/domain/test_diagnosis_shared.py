"""What can be wrong with a shared server as such, and reasons that are told once."""

from corral.domain import diagnosis_shared as rules
from corral.domain.diagnosis import Report
from corral.domain.diagnosis_facts import Facts, Host, LeftWorktree, Records
from corral.domain.diagnosis_parts import of_nobody, of_user, together
from corral.domain.diagnosis_teams import worktrees
from corral.domain.errors import RefusedError
from corral.domain.host_plan import START_MANAGER, START_SERVICE, WRITE_FILE, Step
from corral.domain.host_trouble import Trouble
from corral.domain.own_instance import OwnInstance


def test_what_keeps_the_server_from_working_is_a_problem() -> None:
    assert rules.trouble([]) == []
    (found,) = rules.trouble([Trouble("policy", "everything is denied: rules.rego:3", "mend it")])
    assert (found.check, found.is_well, found.remedy) == ("policy", False, "mend it")


def test_what_the_set_up_lacks_is_told_as_what_it_is_about_and_the_daemon_once() -> None:
    steps = [
        Step(WRITE_FILE, "/x", "write /x", "missing"),
        Step(START_MANAGER, "ann", "start the service manager of ann", "it does not run"),
        Step(START_SERVICE, "corral.service", "start corral.service", "not running"),
    ]
    found = rules.set_up(steps, [])
    assert [(one.check, one.subject, one.is_well) for one in found] == [
        ("host_setup", "/x", False),
        ("linger", "ann", False),
        ("daemon", "corral.service", False),
    ]
    assert found[1].message == "the set-up of this host lacks: start the service manager of ann (it does not run)"
    assert [one.check for one in rules.set_up(steps, ["daemon"])] == ["host_setup", "linger"]


def test_a_set_up_that_is_refused_is_a_problem_with_what_helps() -> None:
    (found,) = rules.cannot_be_set_up(RefusedError("the helper could be replaced", "chmod it"))
    assert (found.check, found.is_well, found.remedy) == ("host_setup", False, "chmod it")


def test_what_root_has_not_looked_at_is_not_called_fine() -> None:
    checked = together([of_nobody()], []).as_json()["checked"]
    assert isinstance(checked, list)
    undone = {one["check"] for one in checked if not one["done"]}
    assert undone == {"containment", "profiles", "user_bus", "controllers"}


def test_a_team_of_nobody_who_is_a_member_is_told_of_with_what_takes_it_down() -> None:
    users = {"shop": ["ann", ""], "cash": ["ben"], "mill": ["root", "agent-builder"]}
    assert rules.without_member(users, ["ann", "ben", "agent-builder"], [], {}) == []
    found = rules.without_member(users, ["ann"], ["agent-builder"], {"cash": "ben", "mill": "ann"})
    assert [(one.subject, one.details["user"], one.is_well) for one in found] == [
        ("cash", "ben", False),
        ("mill", "agent-builder", False),
    ]
    assert "nobody can take it down" in found[0].message
    assert "sudo corral member add ben --role ROLE; sudo corral down -t cash" in found[0].remedy
    assert "nobody" not in found[1].message, "the helper ends what is of somebody in a group of this host"
    assert found[1].remedy.startswith("sudo corral down -t mill")
    left = rules.without_member(users, ["ann", "ben"], [], {"mill": "ann"})
    assert left[0].remedy.startswith("sudo corral member add agent-builder --role agent --of ann; ")


def test_a_member_whose_account_is_gone_is_told_of_with_what_is_left_of_it() -> None:
    assert rules.without_account({}, {"shop": ["ann"]}) == []
    ben, cleo = rules.without_account({"cleo": 1002, "ben": 1001}, {"cash": ["ben", "ann"], "shop": ["ann"]})
    assert (ben.is_well, ben.details["teams"], "sudo useradd --uid 1001 ben; " in ben.remedy) == (False, ["cash"], True)
    assert (cleo.details["teams"], cleo.remedy) == ([], "sudo corral member rm cleo")


def test_what_is_up_beside_the_server_is_told_of() -> None:
    (found,) = rules.own_instances([("ann", OwnInstance("/home/ann/c", ("shop",)))])
    assert found.message == "teams of ann's own instance may still be up, beside the shared server: shop"
    assert found.remedy == "as ann: CORRAL_HOME=/home/ann/c corral down -t shop takes it down"


def test_one_reason_is_told_once_for_all_users() -> None:
    parts = [of_user(Report(findings=[], not_checked={"orphans": "denied"}), user, user) for user in ("ann", "ben")]
    other = Report(findings=[], not_checked={"orphans": "no daemon"})
    assert together([*parts, other], []).not_checked["orphans"] == "of ann, ben: denied; no daemon"


def test_what_a_user_of_agents_has_left_of_a_team_its_person_takes_down() -> None:
    left = LeftWorktree(team="shop", agent="bot", path="/srv/agent-bot/shop/bot")
    facts = Facts(now=0.0, home="/h", host=Host(user="agent-bot"), records=Records(source="daemon"), worktrees=(left,))
    (found,) = of_user(Report(findings=worktrees(facts), not_checked={}), "agent-bot", "ann").findings
    assert found.message.startswith("of agent-bot: ")
    assert found.remedy == "by ann: corral down -t shop removes it, unless work is in it"
