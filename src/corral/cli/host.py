"""`corral host`: make this machine a shared server, see what it lacks, or have it be none again."""

import sys

from corral.cli.command import Command, Invocation, Option
from corral.cli.output import DIM, GREEN, paint, plain, remark, say, takes_colour, write_json
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from corral.domain.host_plan import Step
    from corral.wiring_host import Plan


_NOTHING = "this host is set up: nothing is missing"


def setup(invocation: Invocation) -> int:
    from corral.wiring_host import plan_setup

    check = invocation.flag("check")
    plan = plan_setup(invocation.text("workspaces"), only_look=check)
    if plan.unseen:
        remark(f"corral: {plain(plan.unseen)}")
    if check:
        return _checked(plan, as_json=invocation.json)
    _show(plan.steps, invocation, nothing="this host is set up: there is nothing to do")
    _carry_out(plan, invocation, look="--check to only look")
    if invocation.json:
        write_json({"ready": True, "done": [step.as_json() for step in plan.steps]})
    elif plan.steps:
        say("this host is set up; corral member add USER --role ROLE lets somebody in")
    return 0


def remove(invocation: Invocation) -> int:
    from corral.wiring_host import plan_removal

    plan = plan_removal(purge=invocation.flag("purge"), force=invocation.flag("force"))
    _show(plan.steps, invocation, nothing="there is nothing to remove")
    _carry_out(plan, invocation, look="run it on a terminal, which shows the plan and asks")
    if invocation.json:
        write_json({"done": [step.as_json() for step in plan.steps], "left": list(plan.left)})
    elif plan.left:
        say("left:")
        for one in plan.left:
            say(f"  • {plain(one)}")
    return 0


def _checked(plan: "Plan", *, as_json: bool) -> int:
    steps, trouble = plan.steps, plan.trouble
    if as_json:
        told = [{"message": one.message, "remedy": one.remedy} for one in trouble]
        ready = not steps and not trouble
        write_json({"ready": ready, "missing": [step.as_json() for step in steps], "trouble": told})
    elif steps:
        list_steps(steps)
    else:
        say("everything is in its place, and yet this host does not work:" if trouble else _NOTHING)
    messages, remedies = [one.message for one in trouble], [one.remedy for one in trouble]
    if steps:
        from corral.domain.host_plan import refuse_obstacles

        refuse_obstacles(steps)
        are = f"{len(steps)} step{'s are' if len(steps) > 1 else ' is'} missing"
        messages.insert(0, f"this host is not set up: {are}")
        do = f"sudo corral host setup does {'them' if len(steps) > 1 else 'it'}, after it has shown the plan"
        remedies.insert(0, do)
    if messages:
        raise NotFoundError("; ".join(messages), "; ".join(remedies))
    return 0


def _show(steps: "Sequence[Step]", invocation: Invocation, *, nothing: str) -> None:
    if invocation.json:
        return
    if not steps:
        say(nothing)
        return
    say("the plan:")
    list_steps(steps)


def list_steps(steps: "Sequence[Step]") -> None:
    """The steps of a plan, a line each."""
    colour = takes_colour(sys.stdout)
    for step in steps:
        say(f"  • {plain(step.about)}  {paint(f'({plain(step.why)})', DIM, colour)}")


def _carry_out(plan: "Plan", invocation: Invocation, *, look: str) -> None:
    """Ask, unless that was answered already, and do it. `look` is how the plan is only seen."""
    if not plan.steps:
        return
    if not invocation.flag("yes"):
        _ask(invocation, look)
    sys.stdout.flush()  # the plan comes before what is done of it
    colour = takes_colour(sys.stderr)
    plan.carry_out(lambda step: None if invocation.json else remark(f"{paint('→', GREEN, colour)} {plain(step.about)}"))


def _ask(invocation: Invocation, look: str) -> None:
    if invocation.json or sys.stdin is None or not sys.stdin.isatty():
        raise WrongUseError("nobody is there to be asked whether to do this", f"say --yes, or {look}")
    sys.stdout.write("do it? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusedError("nothing was done", "run it again when it is to be done")


_YES = Option("yes", "y", summary="do what the plan says without asking")

SETUP = Command(
    "host setup",
    "make this machine a shared server, or show what it lacks",
    description=(
        "Makes the system user corral and the groups corral, corral-members and corral-agents, directories, the\n"
        "units of the daemon and of keepers, and the privileged helper with its sudoers file, which visudo must\n"
        "take before anything is changed. Turns linger on for members. The plan is shown first; what is as it\n"
        "should be is left alone, so it can be run again at any time, also after it was interrupted. Run as root.\n"
        "Exit code 0 if the host is set up, 3 if --check finds something missing, a service that does not stay up or\n"
        "a policy that cannot be used, 4 if it is refused."
    ),
    examples=(
        ("sudo corral host setup", "show the plan, ask, do it"),
        ("sudo corral host setup --check", "only say what is missing; exit code 3 if something is"),
        ("sudo corral host setup --yes --json", "for a script"),
    ),
    options=(
        Option("check", summary="change nothing; exit code 3 if something is missing"),
        _YES,
        Option("workspaces", value="DIR", summary="where workspaces of agent users are (/srv/corral)"),
    ),
    run=setup,
)
REMOVE = Command(
    "host remove",
    "undo corral host setup",
    description=(
        "Stops the daemon and the keepers, and removes units, helper, sudoers file and directories; linger is turned\n"
        "off again where Corral turned it on. Data, workspaces and the names that own them stay and are named, unless\n"
        "--purge is said. Refused while teams are up. Run as root."
    ),
    examples=(
        ("sudo corral host remove", "show the plan, ask, do it; data stays"),
        ("sudo corral host remove --purge --yes", "leave nothing, not even work in workspaces of agent users"),
    ),
    options=(
        Option("purge", summary="also remove data, workspaces, the user and the groups"),
        Option("force", summary="even if teams are up: they go on with nobody to look after them"),
        _YES,
    ),
    run=remove,
)

COMMAND = Command(
    "host",
    "make this machine a shared server for several people, or undo that",
    description=(
        "On a shared server one daemon, of its own system user, serves everybody in the group corral-members, and\n"
        "each of them has agents in an account of their own. One person alone needs none of this."
    ),
    examples=(
        ("sudo corral host setup", "show what will be done, ask, do it"),
        ("sudo corral host remove", "undo it"),
    ),
    commands=(SETUP, REMOVE),
)
