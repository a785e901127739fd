"""What a command finds in its environment so that no tool waits for a person.

A command that an agent starts has nobody in front of it. A pager that waits for a key, an editor that waits to be
closed and a prompt for a password would stand there until somebody wonders. So a pager passes everything on, an editor
fails, and a prompt is refused. `CI` is not set: too many programs do something else under it, and not only more
quietly.

What the person has in the environment (`EDITOR=vim`) is meant for that person and loses. What the team declares in
`corral.toml` is meant for the agents and wins, and what comes with the command itself wins over everything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

#: Whoever opens an editor wants something changed. One that does nothing and succeeds would let `git rebase -i` report
#: a success that is none; this one fails, and git says so and how to give the text instead.
_EDITOR = "false"
#: The first two are for every program and speak for the others.
_EDITORS = (
    *("VISUAL", "EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "KUBE_EDITOR"),
    *("HGEDITOR", "SVN_EDITOR", "FCEDIT"),
)

_PAGER = "cat"
#: The first is for every program and speaks for the others.
_PAGERS = (
    *("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "AWS_PAGER", "BAT_PAGER", "PSQL_PAGER"),
    "DELTA_PAGER",
)

#: No questions. Only what makes a program refuse is here, nothing that makes it say yes: `npm_config_yes` installs what
#: nobody looked at. `GIT_SSH_COMMAND` is left alone, it would put aside the key that a repository names in
#: `core.sshCommand`; ssh has no terminal to ask at, and asks in no window either.
_NO_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    #: Empty is an answer: git does not look for one in `core.askPass` or `SSH_ASKPASS`.
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GH_PROMPT_DISABLED": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTCHANGES_FRONTEND": "none",
    "PIP_NO_INPUT": "1",
    "POETRY_NO_INTERACTION": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "TF_INPUT": "0",
}

_ON_A_TERMINAL = {"TERM": "xterm-256color"}
_WITHOUT_A_TERMINAL = {"TERM": "dumb"}
_NO_COLOURS = {"NO_COLOR": "1", "CLICOLOR": "0"}
#: Colours all the same. With `NO_COLOR` beside them, some programs complain about both.
_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM")
#: The same for one program, which heeds them before `NO_COLOR`. They may also say that there shall be none.
_COLOURS_OF_ONE = ("CARGO_TERM_COLOR", "PY_COLORS")


def unattended(
    environment: Mapping[str, str], declared: Collection[str], extra: Mapping[str, str], *, tty: bool
) -> dict[str, str]:
    """The environment of a command: the agent's own, made quiet, and what comes with the command.

    `declared` names what of `environment` the team wrote into `corral.toml`; `extra` is what comes with the command.
    """
    chosen = {name: value for name, value in environment.items() if name in declared}
    chosen.update(extra)

    editor = chosen.get("VISUAL", chosen.get("EDITOR", _EDITOR))
    pager = chosen.get("PAGER", _PAGER)
    quiet = dict.fromkeys(_EDITORS, editor) | dict.fromkeys(_PAGERS, pager) | _NO_QUESTIONS

    found = dict(environment)
    if tty:
        quiet |= _ON_A_TERMINAL
    else:
        quiet |= _WITHOUT_A_TERMINAL
        for name in (*_COLOURS, *_COLOURS_OF_ONE):
            found.pop(name, None)
        if chosen.keys().isdisjoint(_COLOURS):
            quiet |= _NO_COLOURS
    return found | quiet | chosen
