"""The hooks of an agent's worktree, as text: a script that asks where it has to, then runs the person's own hook.

git takes all its hooks from one directory, so there has to be one of each kind here, or the person's own of that kind
would not run. All are the same script, which knows by its name what it is. It is a shell's, which starts in a
millisecond: Python is started only for what has to be asked.

The person's hooks are looked for where git would look without us, each time: `npm install` may move them. They get the
same arguments, input and environment, and their exit code is ours. Pure.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

#: Every kind that git knows and that may be there without anything happening that would not happen without it.
HOOKS = (
    "applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-merge", "post-receive",
    "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push",
    "pre-rebase", "pre-receive", "prepare-commit-msg", "reference-transaction", "sendemail-validate", "update",
    "p4-changelist", "p4-post-changelist", "p4-pre-submit", "p4-prepare-changelist",
)  # fmt: skip
#: With these git does something else as soon as they are there, or runs them with every look at the index. They are
#: there only if the person has them when the workspace is prepared.
ONLY_IF_THEIRS = ("post-index-change", "proc-receive", "push-to-checkout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What the script of one worktree has to know."""

    #: The interpreter, and the directory that Corral is in.
    python: str
    library: str
    #: Where the person's hooks are if nobody says anything about it.
    default: str
    #: `deny` or `allow`: what becomes of a commit if nothing can be asked.
    unreachable: str
    #: What `corral.hook.git_hook` is told: name → value.
    settings: tuple[tuple[str, str], ...]


def script(hook: Hook) -> str:
    """The text of the script."""
    words = " ".join(shlex.quote(f"{name}={value}") for name, value in hook.settings)
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from corral.hook.git_hook import main; main()"
    return _TEXT.format(
        python=shlex.quote(hook.python),
        library=shlex.quote(hook.library),
        default=shlex.quote(hook.default),
        program=shlex.quote(program),
        unreachable=shlex.quote(hook.unreachable),
        words=words,
    )


# Names begin with corral_ so that none can be a variable of the person's environment, which a shell would change.
_TEXT = """\
#!/bin/sh
# Corral wrote this, and writes it anew whenever the agent of this worktree is started. It refuses what would change
# files that somebody else holds (corral lease ls), then runs your own hook of the same name, wherever you have it.
corral_hook=${{0##*/}}

# Where your hooks are: what core.hooksPath says without this worktree's own setting.
corral_theirs=''
corral_said=$(git config --type=path --show-scope --get-all core.hooksPath)
while IFS='\t' read -r corral_scope corral_path; do
    case $corral_scope in
    worktree | command) ;;
    *) corral_theirs=$corral_path ;;
    esac
done <<END
$corral_said
END
[ -n "$corral_theirs" ] || corral_theirs={default}
corral_theirs=$corral_theirs/$corral_hook

# Ends here if it is refused. 3 is a refusal that was told; whatever else is no answer at all.
corral_ask() {{
    {python} -I -S -c {program} {library} "$corral_hook" {words}
    corral_code=$?
    [ "$corral_code" -eq 0 ] && return
    [ "$corral_code" -eq 3 ] && exit 1
    if [ {unreachable} = allow ]; then
        echo "corral: NOT CHECKED whether this changes what others hold: Corral's hook failed ($corral_code)" >&2
        return
    fi
    echo "corral: refused, because Corral's hook failed ($corral_code): is it still installed at "{library}"?" >&2
    echo '  → corral restart writes the hook anew; unreachable = "allow" below [enforcement] lets it pass unchecked' >&2
    exit 1
}}

case $corral_hook in
pre-commit)
    corral_ask </dev/null
    ;;
reference-transaction)
    [ "$1" = prepared ] || [ -x "$corral_theirs" ] || exit 0
    corral_updates=$(cat)
    if [ "$1" = prepared ]; then
        corral_asks=''
        case $corral_updates in
        *' HEAD'* | *' refs/heads/'* | *' refs/stash'*) corral_asks=1 ;;
        *' refs/tags/'*)
            # A fetch may bring thousands, one by one, and they are others'. The zeros between its words are left out.
            IFS= read -r corral_git <"/proc/$PPID/cmdline"
            case $corral_git in *gitfetch*) ;; *) corral_asks=1 ;; esac
            ;;
        esac
        [ -z "$corral_asks" ] || corral_ask <<END
$corral_updates
END
    fi
    [ -x "$corral_theirs" ] || exit 0
    "$corral_theirs" "$@" <<END
$corral_updates
END
    exit
    ;;
esac

[ -x "$corral_theirs" ] || exit 0
exec "$corral_theirs" "$@"
"""
