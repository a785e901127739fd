"""What can be wrong with a shared server as such, and reasons that are told once."""

from corral.domain import diagnosis_shared as rules
from corral.domain.diagnosis import Report
from corral.domain.diagnosis_parts import of_user, together
from corral.domain.own_instance import OwnInstance


def test_a_policy_that_cannot_be_used_is_a_problem() -> None:
    assert rules.policy("", "") == []
    (found,) = rules.policy("everything is denied: rules.rego:3", "mend it")
    assert (found.is_well, found.remedy) == (False, "mend it")


def test_a_team_of_nobody_who_is_a_member_is_told_of_with_what_takes_it_down() -> None:
    users = {"shop": ["ann", ""], "cash": ["ben"], "mill": ["root", "agent-builder"]}
    assert rules.without_member(users, ["ann", "ben", "agent-builder"]) == []
    found = rules.without_member(users, ["ann"])
    assert [(one.subject, one.details["user"], one.is_well) for one in found] == [
        ("cash", "ben", False),
        ("mill", "agent-builder", False),
    ]
    assert "sudo corral member add ben --role ROLE; sudo corral down -t cash" in found[0].remedy


def test_what_is_up_beside_the_server_is_told_of() -> None:
    (found,) = rules.own_instances([("ann", OwnInstance("/home/ann/c", ("shop",)))])
    assert found.message == "teams of ann's own instance may still be up, beside the shared server: shop"
    assert found.remedy == "as ann: CORRAL_HOME=/home/ann/c corral down -t shop takes it down"


def test_one_reason_is_told_once_for_all_users() -> None:
    parts = [of_user(Report(findings=[], not_checked={"orphans": "denied"}), user) for user in ("ann", "ben")]
    other = Report(findings=[], not_checked={"orphans": "no daemon"})
    assert together([*parts, other], []).not_checked["orphans"] == "of ann, ben: denied; no daemon"
