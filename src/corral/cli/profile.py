"""`corral profile`: what is known of coding agents, and whether it fits a live one."""

import os
import sys

from corral.agents import catalogue
from corral.agents.profile import Profile
from corral.agents.profile_trial import PlaceTrial, places
from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, write_json
from corral.cli.progress import strings
from corral.cli.table import lines
from corral.cli.targets import absolute, here, one_agent
from corral.client.answers import Record, ask, ask_for_list
from corral.client.wire import target
from corral.domain.composer import obstacle
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.screens import Rule, Trial, tried

_OWN, _SHIPPED = "own", "shipped"


def ls(invocation: Invocation) -> int:
    known, wrong = catalogue.profiles(), catalogue.problems()
    if invocation.json:
        write_json(
            {
                "directory": invocation.places.profiles,
                "profiles": [_summary(profile) for profile in known],
                "problems": [{"file": one.file, "message": one.message, "remedy": one.remedy} for one in wrong],
            }
        )
        return 0
    rows = [("NAME", "PROGRAM", "COMMAND", "SCREENS", "FROM")]
    for profile in known:
        source = profile.file if catalogue.is_own(profile) else _SHIPPED
        rows.append((profile.name, profile.title, " ".join(profile.command), str(len(profile.rules)), source))
    for line in lines(rows):
        say(plain(line))
    for one in wrong:
        remark(plain(f"left out: {one.message}"))
        remark(plain(f"  → {one.remedy}"))
    return 0


def show(invocation: Invocation) -> int:
    profile = catalogue.by_name(invocation.word("NAME"))
    if profile is None:
        known = ", ".join(profile.name for profile in catalogue.profiles())
        raise NotFoundError(f"there is no profile {invocation.word('NAME')!r}", f"there are: {known}")
    if invocation.json:
        rules = [_rule(rule) for rule in profile.rules]
        about_words = {"ready": list(profile.ready), "draft": profile.draft_pattern, "paste_pause": profile.paste_pause}
        write_json({**_summary(profile), **about_words, "rules": rules})
        return 0
    # Its text as it is: a good start for one of your own.
    with open(profile.file, encoding="utf-8") as file:
        sys.stdout.write(plain(file.read()))
    return 0


def check(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    parameters = [("team", team), ("cwd", here()), ("agent", agent)]
    shown = ask(invocation.places, "GET", target("/v1/screen", parameters))
    profile = _profile_for(invocation, shown)
    screen, title = strings(shown.get("lines")), str(shown.get("title", ""))
    trials = tried(profile.rules, screen, title)
    first = next((trial for trial in trials if not trial.why_not), None)
    # What keeps the daemon from typing there is found out in the same way.
    in_the_way = obstacle(profile.desk(screen, title))
    draft, where = profile.draft(screen), places(profile, screen)
    if invocation.json:
        write_json(
            {
                "team": shown.get("team"),
                "agent": shown.get("agent"),
                "profile": profile.name,
                "file": profile.file,
                "title": title,
                "matched": first.rule.name if first is not None else None,
                "rules": [_trial(trial) for trial in trials],
                "ready": in_the_way is None,
                "why_not_ready": in_the_way.reason if in_the_way is not None else "",
                "draft": draft,
                "places": [_place(trial) for trial in where],
            }
        )
    else:
        say(plain(f"{shown.get('team')}/{shown.get('agent')}: profile {profile.name} ({profile.file})"))
        say(plain(f"title of the terminal: {title!r}"))
        for trial in trials:
            say(plain(_verdict(trial, first)))
        can = f"no, {in_the_way.reason}" if in_the_way is not None else "yes"
        say(plain(f"takes a message: {can}" + (f": {draft!r}" if draft else "")))
        for place in where:
            say(plain(_place_verdict(place)))
    if first is None:
        raise NotFoundError(
            f"no rule of profile {profile.name} fits this screen: the agent is known by its output alone",
            "corral logs --screen shows it; docs/reference/profiles.md tells how rules are written",
        )
    return 0


def _profile_for(invocation: Invocation, shown: Record) -> Profile:
    file = invocation.text("file")
    if file is not None:
        return _read(absolute(file))
    agents = ask_for_list(invocation.places, "GET", target("/v1/agents", [("team", str(shown.get("team")))]))
    words = [word for one in agents if one.get("agent") == shown.get("agent") for word in strings(one.get("command"))]
    # One string for a shell is a list of one word with blanks in it.
    shell = len(words) == 1 and " " in words[0]
    profile = catalogue.for_command(tuple(words), shell)
    if profile is None:
        raise NotFoundError(
            f"no profile knows the command of {shown.get('agent')}: {' '.join(words)}",
            f"write one into {invocation.places.profiles}, or try a file with --file",
        )
    return profile


def _read(path: str) -> Profile:
    from corral.agents.profile_file import read_profile
    from corral.domain.spec_text import MAX_BYTES, decode

    try:
        with open(path, "rb") as file:
            return read_profile(decode(file.read(MAX_BYTES + 1), path), path)
    except OSError as error:
        raise CorralError(f"cannot read {path}: {error.strerror}", "name the file of a profile with --file") from error


def _verdict(trial: Trial, first: "Trial | None") -> str:
    rule = trial.rule
    says = f"{rule.says} ({rule.about})" if rule.about else rule.says
    if trial.why_not:
        return f"  – {rule.name} ({says}): {trial.why_not}"
    if trial is not first:
        return f"  · {rule.name} ({says}): fits as well, but comes later"
    return f"  ✓ {rule.name} ({says})" + (f": {trial.line.strip()}" if trial.line else ": by the title alone")


def _place_verdict(trial: PlaceTrial) -> str:
    about = f"{trial.key} {trial.pattern!r}"
    if trial.why_not:
        return f"  – {about}: {trial.why_not}"
    empty = "the composer, with nothing in it" if trial.key == "draft" else ""
    return f"  ✓ {about}: {trial.shown or empty}"


def _summary(profile: Profile) -> "dict[str, object]":
    return {
        "name": profile.name,
        "title": profile.title,
        "command": list(profile.command),
        "source": _OWN if catalogue.is_own(profile) else _SHIPPED,
        "file": os.path.abspath(profile.file),
        "screens": len(profile.rules),
        "hooks": profile.hooks is not None,
    }


def _rule(rule: Rule) -> "dict[str, object]":
    return {
        "name": rule.name,
        "says": rule.says,
        "about": rule.about,
        "lines": list(rule.lines),
        "block": rule.block,
        "unless": list(rule.unless),
        "title": rule.title,
        "approve": list(rule.approve),
        "deny": list(rule.deny),
        "words": rule.words,
    }


def _trial(trial: Trial) -> "dict[str, object]":
    rule = trial.rule
    return {
        "name": rule.name,
        "says": rule.says,
        "about": rule.about,
        "fits": not trial.why_not,
        "line": trial.line,
        "why_not": trial.why_not,
    }


def _place(trial: PlaceTrial) -> "dict[str, object]":
    return {
        "key": trial.key,
        "pattern": trial.pattern,
        "fits": not trial.why_not,
        "shown": trial.shown,
        "why_not": trial.why_not,
    }


COMMAND = Command(
    "profile",
    "see what is known of coding agents, and try it on a live one",
    description=(
        "A profile tells how to talk to a coding agent, and what its screens say: that it works, that it waits for a\n"
        "person, that it is idle. Profiles are TOML files. Your own are in ~/.config/corral/profiles, or for an\n"
        "instance with a CORRAL_HOME of its own in CORRAL_HOME/profiles: they add to those that ship, or take the\n"
        "place of one by its name. They count as soon as they are there; one with a mistake is left out and named."
    ),
    examples=(
        ("corral profile ls", "all profiles, and what is wrong with yours"),
        ("corral profile show claude > ~/.config/corral/profiles/claude.toml", "begin one of your own"),
        ("corral profile check builder-1", "which rule fits what its terminal shows now"),
    ),
    commands=(
        Command(
            "profile ls",
            "list the profiles",
            description="Those that ship and your own, by name, and which files were left out for a mistake.",
            examples=(("corral profile ls", "all of them"), ("corral profile ls --json", "the same for programs")),
            run=ls,
        ),
        Command(
            "profile show",
            "print a profile",
            description="Its text as it is in the file. Exit code 3 if there is none of that name.",
            examples=(
                ("corral profile show codex", "what is known of Codex"),
                ("corral profile show pi --json", "its rules for programs"),
            ),
            arguments=(Argument("NAME", summary="the name of the profile, such as claude"),),
            run=show,
        ),
        Command(
            "profile check",
            "try a profile on the live terminal of an agent",
            description=(
                "Says which rule fits the screen of the agent as it is now and by which line, and of the others why\n"
                "they do not; also whether a message can be typed, what is half written there, and how ready and\n"
                "draft fare. Exit code 3 if no rule fits."
            ),
            examples=(
                ("corral profile check builder-1", "by the profile of its program"),
                ("corral profile check builder-1 --file mine.toml", "by a file that you are writing"),
            ),
            arguments=(Argument("AGENT", summary="the agent", offers=AGENTS),),
            options=(
                Option("file", "f", value="FILE", summary="the file of a profile, instead of the one of its program"),
                TEAM,
            ),
            run=check,
        ),
    ),
)
