"""Who a caller is: credential, cgroup, user and name, in every combination that counts."""

import pytest

from corral.domain import identity
from corral.domain.credentials import Names
from corral.domain.identity import CLAIMED, PERSON, PROVED, REFUSED, UNIT, Asked, Holder, Identity, Lineage, decide

TOP = "/user.slice/user-1000.slice/user@1000.service"
A, B = f"{TOP}/corral.slice/corral-shop.slice/corral-shop-a.scope", f"{TOP}/corral.slice/corral-shop-b.scope"
PLACES = {A: "shop/a", B: "shop/b"}
INIT = [f"{TOP}/init.scope", "/init.scope"]
IN_A, IN_B = [A, *INIT], [B, *INIT]
#: A command of agent a: below its cgroup.
COMMAND_OF_A = [f"{A}/process-7", *INIT]
#: What agent a has had moved elsewhere, by its tmux or by `systemd-run --scope`.
FROM_A = [f"{TOP}/tmux-spawn-1.scope", A, *INIT]
LOGIN = ["/user.slice/user-1000.slice/session-3.scope", "/system.slice/ssh.service", "/init.scope"]
#: `systemd-run --user`, a timer, a terminal of a desktop: started by the manager.
TERMINAL = [f"{TOP}/app.slice/terminal.scope", *INIT]
#: A pane of a tmux that knows systemd, and that somebody started who logged in. The server has no parent any more.
PANE = [f"{TOP}/tmux-spawn-2.scope", "/user.slice/user-1000.slice/session-3.scope", "/init.scope"]
#: A service of the system: cron, `systemd-run --uid` by root, an sshd without PAM.
SERVICE = ["/system.slice/cron.service", "/init.scope"]
KEEPER = [f"{TOP}/corral.slice/corral.keeper.abcdef.scope", *INIT]

OWN = Names(instance="i1", team="shop", agent="a", run="r1")
HOLDER = Holder(fits=True, live=True, uid=1000, cgroup=A)


def who(
    *,
    names: Names | None = None,
    shows: bool | None = None,
    claim: str = "",
    uid: int = 1000,
    holder: Holder | None = None,
    lineage: Lineage = None,
    shared: bool,
    trust: bool = False,
) -> Identity:
    asked = Asked(uid=uid, claim=claim, shows=names is not None if shows is None else shows, names=names)
    return decide(asked, holder, lineage, PLACES, instance="i1", shared=shared, trust_user_units=trust)


BOTH = pytest.mark.parametrize("shared", [False, True])


@BOTH
@pytest.mark.parametrize("claim", ["", "shop/a"])
@pytest.mark.parametrize("lineage", [IN_A, COMMAND_OF_A, FROM_A])
def test_a_credential_and_its_cgroup_prove_an_agent(shared: bool, claim: str, lineage: list[str]) -> None:
    found = who(names=OWN, holder=HOLDER, lineage=lineage, claim=claim, shared=shared)
    assert found == Identity(kind=PROVED, agent="shop/a", run="r1")


@BOTH
@pytest.mark.parametrize(
    ("holder", "why"),
    [
        (None, "does not have"),
        (Holder(fits=False, live=True, uid=1000, cgroup=A), "has no more"),
    ],
)
def test_a_credential_that_does_not_hold_is_refused_from_wherever(
    shared: bool, holder: Holder | None, why: str
) -> None:
    for lineage in (IN_A, LOGIN, None):
        found = who(names=OWN, holder=holder, lineage=lineage, shared=shared)
        assert found.kind == REFUSED
        assert why in found.why


def test_another_user_with_a_credential_is_refused_where_there_are_others() -> None:
    assert "by another user" in who(names=OWN, uid=1001, holder=HOLDER, lineage=IN_A, shared=True).why
    # Nobody but root can be it elsewhere: what an agent does with sudo.
    assert who(names=OWN, uid=0, holder=HOLDER, lineage=IN_A, shared=False).kind == PROVED


def test_the_credential_of_a_run_that_has_ended_is_a_claim_at_most() -> None:
    over = Holder(fits=True, live=False, uid=1000, cgroup=A)
    assert "has ended" in who(names=OWN, holder=over, lineage=COMMAND_OF_A, shared=True).why
    found = who(names=OWN, holder=over, lineage=COMMAND_OF_A, shared=False)
    assert (found.kind, found.agent, found.run) == (CLAIMED, "shop/a", "")
    assert who(names=OWN, holder=over, lineage=IN_B, shared=False).kind == REFUSED


@BOTH
def test_what_is_no_credential_at_all_is_refused(shared: bool) -> None:
    assert who(shows=True, lineage=LOGIN, shared=shared).kind == REFUSED


@BOTH
@pytest.mark.parametrize("lineage", [IN_B, [f"{B}/process-1", *INIT], [f"{TOP}/x.scope", B, A]])
def test_an_agent_with_the_credential_of_another_is_refused(shared: bool, lineage: list[str]) -> None:
    found = who(names=OWN, holder=HOLDER, lineage=lineage, shared=shared)
    assert (found.kind, found.why) == (REFUSED, "with the credential of shop/a, from within shop/b")


@BOTH
def test_an_agent_in_the_name_of_another_is_refused(shared: bool) -> None:
    found = who(names=OWN, holder=HOLDER, lineage=IN_A, claim="shop/b", shared=shared)
    assert (found.kind, found.why) == (REFUSED, "in the name of another agent, with the credential of shop/a")


@pytest.mark.parametrize("lineage", [LOGIN, TERMINAL, None])
def test_a_credential_from_elsewhere_is_a_claim_at_most(lineage: Lineage) -> None:
    assert who(names=OWN, holder=HOLDER, lineage=lineage, shared=True).kind == REFUSED
    found = who(names=OWN, holder=HOLDER, lineage=lineage, shared=False)
    assert (found.kind, found.agent, found.run) == (CLAIMED, "shop/a", "")
    assert found.why


def test_without_a_cgroup_a_credential_is_a_claim_at_most() -> None:
    unplaced = Holder(fits=True, live=True, uid=1000, cgroup="")
    assert who(names=OWN, holder=unplaced, lineage=["/"], shared=True).kind == REFUSED
    found = who(names=OWN, holder=unplaced, lineage=["/"], shared=False)
    assert (found.kind, found.agent) == (CLAIMED, "shop/a")


@pytest.mark.parametrize("lineage", [IN_A, COMMAND_OF_A, FROM_A])
def test_an_agent_that_hides_is_not_its_developer_on_a_shared_server(lineage: list[str]) -> None:
    found = who(lineage=lineage, shared=True)
    assert (found.kind, found.agent, found.why) == (REFUSED, "shop/a", "from within shop/a, without its credential")
    # In an instance of one person, what only people may do is looked at by those who do it.
    assert who(lineage=lineage, shared=False) == Identity(kind=PERSON)


@pytest.mark.parametrize("lineage", [KEEPER, [f"{TOP}/app.slice/x.scope", *KEEPER], [f"{TOP}/corral-toys-z.scope"]])
def test_what_corral_started_is_no_person_on_a_shared_server(lineage: list[str]) -> None:
    assert who(lineage=lineage, shared=True).why == "from within something that Corral started"


def test_a_process_that_is_gone_is_nobody_on_a_shared_server() -> None:
    assert "has ended" in who(lineage=None, shared=True).why


@pytest.mark.parametrize("lineage", [LOGIN, PANE, SERVICE, ["/user.slice/user-0.slice/session-3.scope"], ["/"]])
def test_a_person_is_a_person(lineage: list[str]) -> None:
    assert who(lineage=lineage, shared=True) == Identity(kind=PERSON)
    assert who(shared=False) == Identity(kind=PERSON)


@pytest.mark.parametrize(
    "own",
    [
        f"{TOP}/app.slice/run-1.service",
        f"{TOP}/init.scope",
        TOP,
        # Names are its own to choose.
        f"{TOP}/session-3.scope",
        f"{TOP}/user.slice/user-1000.slice/session-3.scope",
        # Of whichever user: by sudo, for one.
        "/user.slice/user-1001.slice/user@1001.service/x.scope",
        f"/machine.slice/m.scope{TOP}/x.scope",
    ],
)
def test_what_a_service_manager_runs_is_no_person_on_a_shared_server(own: str) -> None:
    found = who(lineage=[own, *INIT], shared=True)
    assert (found.kind, found.agent) == (UNIT, "")
    assert own not in found.why, "names that others choose make each refusal another one"
    # Where it is trusted, and where there is one person, nothing is made of it.
    assert who(lineage=[own, *INIT], shared=True, trust=True) == Identity(kind=PERSON)
    assert who(lineage=[own, *INIT], shared=False) == Identity(kind=PERSON)


def test_trust_in_units_is_none_in_agents() -> None:
    for lineage in (IN_A, FROM_A, KEEPER, None):
        assert who(lineage=lineage, shared=True, trust=True).kind == REFUSED
    assert who(lineage=TERMINAL, claim="shop/a", shared=True, trust=True).kind == REFUSED
    assert who(names=OWN, holder=HOLDER, lineage=TERMINAL, shared=True, trust=True).kind == REFUSED


def test_a_log_in_behind_an_agent_does_not_count() -> None:
    assert who(lineage=[f"{TOP}/tmux-spawn-1.scope", *IN_A, LOGIN[0]], shared=True).why.startswith("from within shop/a")


def test_a_name_alone_counts_where_there_is_one_person_and_nowhere_else() -> None:
    assert who(claim="shop/a", shared=False) == Identity(kind=CLAIMED, agent="shop/a")
    found = who(claim="shop/a", lineage=LOGIN, shared=True)
    assert (found.kind, found.agent) == (REFUSED, "shop/a")


def test_the_credential_of_another_instance_is_none_here() -> None:
    other = Names(instance="i2", team="shop", agent="a", run="r1")
    assert who(names=other, shared=False) == Identity(kind=PERSON)
    assert who(names=other, claim="shop/a", shared=False).kind == CLAIMED
    assert who(names=other, lineage=LOGIN, shared=True).kind == PERSON
    assert who(names=other, lineage=[f"{TOP}/corral-toys-z.scope", *INIT], shared=True).kind == REFUSED


@pytest.mark.parametrize(
    ("reported", "uid", "shared", "counts"),
    [
        (A, 1000, True, True),
        (A, 1001, True, False),
        ("/", 1000, True, False),
        ("", 1000, True, False),
        (f"{TOP}/", 1000, True, False),
        (TOP, 1000, True, False),
        ("/user.slice/user-1000.slice/session-3.scope", 1000, True, False),
        ("/corral-i1/shop/a", 0, False, True),
        ("/", 0, False, False),
        ("corral", 0, False, False),
    ],
)
def test_a_keeper_is_believed_only_about_what_is_its_users(reported: str, uid: int, shared: bool, counts: bool) -> None:
    assert identity.place_of_run(reported, uid, shared=shared) == (reported if counts else "")


def test_a_cgroup_that_only_begins_alike_is_another() -> None:
    assert identity.is_within(A, A)
    assert identity.is_within(f"{A}/x", A)
    assert not identity.is_within(f"{A}x", A)
    assert identity.inside([f"{A}x"], PLACES) == ""


def test_a_login_is_that_of_the_user_who_asks() -> None:
    assert identity.is_login("/user.slice/user-1000.slice/session-c3.scope", 1000)
    assert not identity.is_login("/user.slice/user-1000.slice/session-c3.scope", 1001)
    assert not identity.is_login(f"{TOP}/session-3.scope", 1000)
    assert not identity.is_login(f"{TOP}/user.slice/user-1000.slice/session-3.scope", 1000)
