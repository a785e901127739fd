"""`corral policy`: who may do what, and rules of one's own."""

import os

from corral.cli.command import AGENTS, FILES, Argument, Command, Invocation, Option
from corral.cli.output import GREEN, RED, paint, plain, remark, say, takes_colour, write_json
from corral.cli.table import lines
from corral.client.answers import Record
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.places import Places

#: The rule of the policy that ships for a verb that it does not know.
UNKNOWN_VERB = "unknown_verb"
#: Commands whose verb is called otherwise.
_VERBS = {
    "approve": "answer_entry",
    "exec": "execute",
    "inbox": "list_entries",
    "ps": "list_agents",
    "replay": "read_recording",
    "rm": "remove",
}
_MODES = ("observe", "drive", "moderate")


def check(invocation: Invocation) -> int:
    places, verb = invocation.places, invocation.word("VERB")
    asked = {
        "verb": _VERBS.get(verb, verb.replace("-", "_")),
        "who": invocation.text("as") or _user(),
        "on": "".join(invocation.words("ON")),
        "role": invocation.text("role") or "",
        "owner": invocation.text("owner") or "",
        "owner_role": invocation.text("owner-role") or "",
    }
    teams, facts = invocation.texts("team"), _facts(invocation)
    ask = _by_daemon if places.of_host or os.environ.get("CORRAL_URL") else _here
    answer = ask(places, asked, teams, facts)
    if answer["rule"] == UNKNOWN_VERB:
        raise _no_verb(places, verb)
    if invocation.json:
        write_json(answer)
    else:
        _tell(answer)
    return 0 if answer["allow"] is True else RefusedError.exit_code


def _no_verb(places: "Places", verb: str) -> WrongUseError:
    """For a verb that no rule knows: what is asked about nothing has no answer that anybody could use."""
    from corral.cli.suggest import did_you_mean
    from corral.wiring_policy import verbs

    known = [*verbs(places), *_VERBS]
    near = did_you_mean(verb, [*known, *(one.replace("_", "-") for one in known if "_" in one)])
    return WrongUseError(
        f"there is no verb {verb}",
        near or "docs/reference/api.md has them all; corral policy show has the first of each",
    )


def _here(places: "Places", asked: "dict[str, str]", teams: "list[str]", facts: "dict[str, str]") -> Record:
    from corral.wiring_policy import check as decide

    return decide(places, {**asked, "teams": tuple(teams), "facts": facts})


def _by_daemon(places: "Places", asked: "dict[str, str]", teams: "list[str]", facts: "dict[str, str]") -> Record:
    """On a shared server: rules and members are the daemon's, and nobody else can read them."""
    from corral.client.answers import ask
    from corral.client.start import ensure_daemon
    from corral.client.wire import target

    ensure_daemon(places)
    given = [
        *((key, value or None) for key, value in asked.items()),
        *(("in_team", team) for team in teams),
        *(("fact", f"{key}={value}") for key, value in facts.items()),
    ]
    return ask(places, "GET", target("/v1/policy/check", given))


def _facts(invocation: Invocation) -> "dict[str, str]":
    facts = {}
    for pair in invocation.texts("with"):
        key, sign, value = pair.partition("=")
        if not key or not sign:
            raise WrongUseError(f"--with cannot be {pair!r}", "write it as KEY=VALUE, such as --with role=junior")
        facts[key] = value
    said = [mode for mode in _MODES if invocation.flag(mode)]
    if (mode := invocation.text("mode")) is not None:
        said.append(mode)
    if len(said) > 1:
        raise WrongUseError(f"it cannot be both {said[0]} and {said[1]}", "say one: --observe, --drive or --moderate")
    return {**facts, "mode": said[0]} if said else facts


def _user() -> str:
    from corral.peer import user_name

    return user_name(os.getuid())


def _tell(answer: Record) -> None:
    import sys

    colour, allowed = takes_colour(sys.stdout), answer["allow"] is True
    word = paint("allowed", GREEN, colour) if allowed else paint("denied", RED, colour)
    say(f"{word} by {plain(str(answer['rule']))}: {plain(str(answer['reason']))}")
    assumed = answer["assumed"]
    for one in assumed if isinstance(assumed, list) else ():
        remark(plain(f"assumed: {one}"))


def test(invocation: Invocation) -> int:
    from corral.wiring_policy import test as tried

    if not invocation.words("DIR"):
        _must_be_readable(invocation.places)
    directory = "".join(invocation.words("DIR")) or invocation.places.policy
    if not os.path.isdir(directory):
        raise NotFoundError(f"there is no directory {directory}", "name the one that your policy is in")
    answer = tried(directory)
    if invocation.json:
        write_json(answer)
    warnings, tests = answer["warnings"], answer["tests"]
    for doubt in warnings if isinstance(warnings, list) and not invocation.json else ():
        remark(plain(doubt))
    rows = tests if isinstance(tests, list) else []
    for row in () if invocation.json else rows:
        if row["passed"]:
            say(plain(f"✓ {row['test']}"))
        else:
            say(plain(f"✗ {row['test']}: {row['problem']} ({row['file']})"))
    if not rows:
        raise NotFoundError(
            f"the files in {directory} are read and compiled, but have no test",
            "write rules named test_…: docs/howto/policy.md shows some",
        )
    if answer["failed"]:
        raise CorralError(
            f"{answer['failed']} of {len(rows)} tests failed", "corral policy show shows the rules in force"
        )
    return 0


def show(invocation: Invocation) -> int:
    from corral.wiring_policy import show as shown

    _must_be_readable(invocation.places)
    answer = shown(invocation.places, invocation.text("to"))
    if invocation.json:
        write_json(answer)
        return 0
    url = answer["url"]
    say(plain(f"decided by {url}" if url else "decided in the daemon, by:"))
    for kind in ("files", "written"):
        paths = answer[kind]
        for path in paths if isinstance(paths, list) else ():
            say(plain(f"  {'written: ' if kind == 'written' else ''}{path}"))
    say(plain(f"  yours go into {answer['directory']}"))
    tables = answer["tables"]
    for row in _rows(tables) if isinstance(tables, dict) else ():
        say(plain(row))
    return 0


def _must_be_readable(places: "Places") -> None:
    """On a shared server the files are the daemon's. What nobody can read is not to look as if there were none."""
    if places.of_host and not os.access(places.home, os.X_OK):
        raise RefusedError(
            "the policy of this host is read by its daemon and by root alone",
            "sudo corral policy show; or ask about one thing: corral policy check",
        )


def _rows(tables: Record) -> "list[str]":
    """What each role may do, an act a line."""
    roles, acts, verbs = (tables[key] for key in ("roles", "acts", "verbs"))
    assert isinstance(roles, dict)
    assert isinstance(acts, dict)
    assert isinstance(verbs, dict)
    table = [("ACT", *(name.upper() for name in roles), "VERBS")]
    for act in acts:
        reach = [" ".join(role.get("grants", {}).get(act, ())) or "–" for role in roles.values()]
        named = [verb for verb, of in verbs.items() if of == act]
        table.append((act, *reach, ", ".join(named[:3]) + (", …" if len(named) > 3 else "")))
    return ["", *lines(table)]


COMMAND = Command(
    "policy",
    "tell who may do what, and try rules of your own",
    description=(
        "On a host that several people share, every request is decided by a policy: rules in Rego, and tables of what\n"
        "roles may do. What ships can be changed by files in ~/.config/corral/policy, or for an instance with a\n"
        "CORRAL_HOME of its own in CORRAL_HOME/policy. An instance of one person asks no policy."
    ),
    examples=(
        ("corral policy check --as dev2 attach dev1/builder", "would it be allowed, and by which rule?"),
        ("corral policy show", "what each role may do"),
        ("corral policy test ./policy", "run the tests of your own rules"),
    ),
    commands=(
        Command(
            "policy check",
            "tell what would be decided, and by which rule",
            description=(
                "Asks the policy without doing anything. Exit code 0 if it is allowed, 4 if it is denied. VERB is a\n"
                "verb of the API, such as send, logs or attach. ON is TEAM/AGENT, USER/AGENT for an agent of a user,\n"
                "TEAM, or @USER for what is a person's; without it, the host. What is not known of people and agents\n"
                "is assumed, and told; options say otherwise."
            ),
            examples=(
                ("corral policy check --as dev2 attach dev1/builder", "may dev2 sit down at builder's terminal?"),
                (
                    "corral policy check --as dev2 --role junior attach dev1/builder --mode observe",
                    "and watch, as junior?",
                ),
                ("corral policy check --as shop/builder send shop/tester --json", "an agent, for programs"),
            ),
            arguments=(
                Argument("VERB", summary="what is to be done"),
                Argument("ON", summary="what it is to be done on", required=False, offers=AGENTS),
            ),
            options=(
                Option("as", value="WHO", summary="the person, or TEAM/AGENT; without it, you"),
                Option("role", value="ROLE", summary="the role of the person, instead of the one they have"),
                Option("team", "t", value="TEAM", summary="a team that the person is in", repeatable=True),
                Option("owner", value="USER", summary="whose it is, instead of what is known"),
                Option("owner-role", value="ROLE", summary="the role of that person, instead of the one they have"),
                Option("mode", value="MODE", summary="how to attach; drive if it is not said", choices=_MODES),
                *(Option(mode, summary=f"as --mode {mode}: so corral attach says it") for mode in _MODES),
                Option("with", value="KEY=VALUE", summary="what else counts for the verb", repeatable=True),
            ),
            run=check,
        ),
        Command(
            "policy test",
            "run the tests of rules of your own",
            description=(
                "Rules named test_… in the *.rego files of DIR, each of which holds or does not; over the policy that\n"
                "ships. Exit code 1 if one fails, 2 if a file cannot be read, 3 if there is no test."
            ),
            examples=(
                ("corral policy test", "those of this instance"),
                ("corral policy test ./policy --json", "of a directory, for programs"),
            ),
            arguments=(
                Argument(
                    "DIR", summary="the directory; without it, the one of this instance", required=False, offers=FILES
                ),
            ),
            run=test,
        ),
        Command(
            "policy show",
            "show the policy in force",
            description=(
                "Who decides, by which files, and what each role may do. With --to, the whole policy as files that an\n"
                "OPA server can be started with."
            ),
            examples=(
                ("corral policy show", "the tables"),
                ("corral policy show --to /srv/opa/corral", "for: opa run --server /srv/opa/corral"),
            ),
            options=(Option("to", value="DIR", summary="write it there; the directory must be empty", offers=FILES),),
            run=show,
        ),
    ),
)
