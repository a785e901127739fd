"""The environment in which a demo agent runs git: always the repository it stands in, never without an author."""

from collections.abc import Mapping

#: A hook or an alias that started us may have left these behind; they would send a commit to another repository.
_ELSEWHERE = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"}
)


def git_environment(environ: Mapping[str, str], configured: bool) -> dict[str, str]:
    """`environ` for git; with an author of the agent's own unless one is `configured`."""
    result = {name: value for name, value in environ.items() if name not in _ELSEWHERE}
    result["GIT_TERMINAL_PROMPT"] = "0"
    if not configured:
        agent = environ.get("CORRAL_AGENT") or "demo"
        for who in ("AUTHOR", "COMMITTER"):
            result.setdefault(f"GIT_{who}_NAME", f"{agent} (demo agent)")
            result.setdefault(f"GIT_{who}_EMAIL", f"{agent}@demo.invalid")
    return result
