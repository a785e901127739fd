"""`corral who` with real agents, real worktrees and real commits: who changed, holds or claimed a file."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import IDLE, ps, toml
from tests.support import repos
from tests.support.instance import Instance
from tests.support.merging import Merging
from tests.support.waiting import wait_for

Traces = list[tuple[str, str | None]]


@pytest.fixture
def repo(instance: Instance) -> Path:
    """The repository of a team of two, which is up."""
    path = repos.make(Path(instance.directory, "repo"))
    repos.git(path, "config", "user.name", "Ann")
    repos.git(path, "config", "user.email", "ann@example.org")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo=path))
    instance.run("up")
    return path


def worktree(instance: Instance, agent: str) -> Path:
    return Path(ps(instance)[agent]["workspace"])


def commit(where: Path, name: str | bytes, text: str, message: str) -> None:
    path = os.path.join(os.fsencode(where), os.fsencode(name))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    repos.git(where, "add", "--all")
    repos.git(where, "commit", "--quiet", "-m", message)


def told(answer: Any) -> Traces:
    return [(trace["what"], trace["agent"] or trace["person"]) for trace in answer["traces"]]


def test_commits_of_agents_are_theirs_before_and_after_they_are_merged(instance: Instance, repo: Path) -> None:
    commit(worktree(instance, "a"), "new.py", "one\n" * 20, "By a")
    commit(worktree(instance, "b"), "other.py", "x\n", "By b")
    assert told(instance.json("who", "new.py", cwd=repo)) == [("committed", "shop/a")]
    repos.git(repo, "merge", "--quiet", "--no-edit", "corral/shop/a")
    repos.git(repo, "mv", "new.py", "renamed.py")
    repos.git(repo, "commit", "--quiet", "-m", "Rename it")
    found = instance.json("who", "renamed.py", cwd=repo)["traces"]
    assert [(one["what"], one["agent"], one["person"], one["path"], one["detail"]) for one in found] == [
        ("committed", None, "Ann <ann@example.org>", "renamed.py", "Rename it"),
        ("committed", "shop/a", "Ann <ann@example.org>", "new.py", "By a"),
    ]
    assert found[1]["branch"] == "corral/shop/a"
    assert "By a" in instance.run("who", "renamed.py", cwd=repo).stdout


def test_what_is_held_claimed_and_being_changed_now_comes_first(instance: Instance, repo: Path) -> None:
    commit(worktree(instance, "a"), "api.py", "one\n", "By a")
    (worktree(instance, "b") / "api.py").write_text("not committed\n")
    lease = instance.json("lease", "acquire", "--agent", "b", "*.py")["lease"]
    instance.run("task", "add", "Mend api.py")
    instance.run("task", "add", "Mend rapi.py", "--priority", "-1")
    instance.run("task", "claim", "--agent", "a")
    found = instance.json("who", "api.py", cwd=repo)["traces"]
    now = {(one["what"], one["agent"]) for one in found if one["now"]}
    assert now == {("changing", "shop/b"), ("holds", "shop/b"), ("claims", "shop/a")}
    assert [one["now"] for one in found] == sorted((one["now"] for one in found), reverse=True)
    assert "claimed" not in [one["what"] for one in found]
    assert ("added", None) in {(one["what"], one["agent"]) for one in found if one["task"]}
    instance.run("lease", "release", "--agent", "b", lease)
    later = told(instance.json("who", "api.py", cwd=repo))
    assert ("granted", "shop/b") in later
    assert ("released", "shop/b") in later
    assert ("holds", "shop/b") not in later


def test_a_path_is_relative_to_the_directory_or_to_the_top(instance: Instance, repo: Path) -> None:
    where = worktree(instance, "a") / "src" / "deep"
    where.mkdir(parents=True)
    commit(where, "x.py", "one\n", "Deep")
    for path, cwd in (("x.py", where), ("deep/x.py", where.parent), ("src/deep/x.py", repo), ("src/deep/x.py", where)):
        assert instance.json("who", path, cwd=cwd)["path"] == "src/deep/x.py", path
    assert instance.json("who", str(where / "x.py"), cwd="/tmp", check=True)["path"] == "src/deep/x.py"


def test_what_nobody_knows_and_what_can_be_no_file(instance: Instance, repo: Path) -> None:
    instance.run("lease", "acquire", "--agent", "b", "*.py", "new.txt")
    assert instance.error("who", "nothing.py", cwd=repo)[0] == 3
    assert told(instance.json("who", "new.txt", cwd=repo)) == [("holds", "shop/b")]
    for path in ("..", "../x", "/etc/passwd", ".git/config", ""):
        assert instance.error("who", path, cwd=repo)[0] == 2, path
    (repo / "README.md").read_text()
    future = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 3600))
    answer = instance.json("who", "--since", future, "README.md", cwd=repo)
    assert (answer["traces"], answer["more"]) == ([], 0)


def test_it_is_bounded(instance: Instance, repo: Path) -> None:
    for number in range(4):
        commit(repo, "much.txt", f"{number}\n", f"Change {number}")
    answer = instance.json("who", "--limit", "2", "much.txt", cwd=repo)
    assert [one["detail"] for one in answer["traces"]] == ["Change 3", "Change 2"]
    instance.run("task", "add", "Read much.txt")
    whole = len(instance.json("who", "much.txt", cwd=repo)["traces"])
    assert whole == 5
    for limit in range(1, whole + 2):
        answer = instance.json("who", "--limit", str(limit), "much.txt", cwd=repo)
        assert (len(answer["traces"]), answer["more"]) == (min(limit, whole), max(0, whole - limit)), limit


def test_a_name_that_is_no_text_or_looks_like_a_pattern(instance: Instance, repo: Path) -> None:
    commit(worktree(instance, "a"), b"caf\xe9.py", "x\n", "Latin")
    commit(worktree(instance, "b"), ":(glob)[*].py", "x\n", "Odd")
    instance.run("lease", "acquire", "--agent", "b", "*.py")
    answer = instance.json("who", os.fsdecode(b"caf\xe9.py"), cwd=repo)
    assert (answer["path"], told(answer)) == ("caf\\xe9.py", [("holds", "shop/b"), ("committed", "shop/a")])
    assert ("committed", "shop/b") in told(instance.json("who", ":(glob)[*].py", cwd=repo))


def test_an_agent_asks_for_itself(instance: Instance, repo: Path) -> None:
    commit(worktree(instance, "a"), "own.py", "x\n", "Own")
    said = instance.run("exec", "b", "--", *instance.argv("who", "own.py"))
    assert "shop/a" in said.stdout


def test_a_merge_is_told_of_with_who_is_accountable(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory)
    merging.up()
    merging.commit("a", new="1\n")
    merging.commit("b", other="1\n")
    done = merging.submit("--agent", "a")
    merging.submit("--agent", "b")
    found = instance.json("who", "new", cwd=merging.repo)["traces"]
    merged = [(one["agent"], one["person"], one["commit"]) for one in found if one["what"] == "merged"]
    assert merged == [("shop/a", done["person"], done["commit"])]


def test_a_merge_is_of_the_files_that_it_brought(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory)
    merging.up()
    merging.commit("a", first="1\n")
    first = merging.submit("--agent", "a")["commit"]
    merging.commit("a", second="1\n")
    second = merging.submit("--agent", "a")["commit"]
    merging.submit("--agent", "a")  # of which main has everything
    merging.commit("b", first="of b\n", third="1\n")
    conflict = merging.show(merging.queue("--agent", "b"))
    assert conflict["state"] == "conflict"

    def merges(path: str) -> Traces:
        found = instance.json("who", path, cwd=merging.repo)["traces"]
        return [(one["what"], one["commit"]) for one in found if one["what"] in ("merged", "conflict")]

    assert merges("first") == [("conflict", conflict["tip"]), ("merged", first)]
    assert merges("second") == [("merged", second)]
    assert merges("third") == [("conflict", conflict["tip"])]
    # A conflict stays one, also when the branch is merged later.
    git = merging.workspace("b")
    repos.git(git, "merge", "--quiet", "--no-edit", "-X", "ours", "main")
    merged = merging.submit("--agent", "b")["commit"]
    assert merges("third") == [("merged", merged), ("conflict", conflict["tip"])]


def test_a_refused_merge_is_of_the_files_that_it_would_have_brought(instance: Instance, own_directory: Path) -> None:
    merging, started = Merging(instance, own_directory), own_directory / "started"
    merging.up("touch $STARTED; while test -e $STARTED; do sleep 0.05; done", env={"STARTED": str(started)})
    merging.commit("a", mine="1\n", held="1\n")
    merge = merging.queue("--agent", "a")
    wait_for(started.exists, 20, "the gate runs")
    lease = instance.json("lease", "acquire", "held", "--agent", "b")["lease"]
    started.unlink()
    refused = merging.show(merge)
    assert refused["state"] == "refused"
    instance.run("lease", "release", lease, "--agent", "b")
    instance.run("merge", "retry", merge)
    assert merging.show(merge)["state"] == "merged"
    found = instance.json("who", "mine", cwd=merging.repo)["traces"]
    assert {one["what"] for one in found} == {"committed", "refused", "merged"}


def test_a_resolution_that_changed_the_file_is_one_of_its_commits(instance: Instance, repo: Path) -> None:
    commit(repo, "plan.txt", "one\n" * 5, "Begin")
    repos.git(repo, "checkout", "--quiet", "-b", "side")
    commit(repo, "plan.txt", "side\n" + "one\n" * 5, "Side")
    repos.git(repo, "checkout", "--quiet", "-")
    commit(repo, "plan.txt", "main\n" + "one\n" * 5, "Main")
    repos.git(repo, "merge", "--quiet", "--no-commit", "-X", "ours", "side")
    commit(repo, "plan.txt", "both\n" + "one\n" * 5, "Resolve")
    repos.git(repo, "checkout", "--quiet", "-b", "other")
    commit(repo, "copy.txt", "both\n" + "one\n" * 5 + "x\n", "A copy")
    repos.git(repo, "checkout", "--quiet", "-")
    repos.git(repo, "merge", "--quiet", "--no-ff", "--no-edit", "other")
    found = instance.json("who", "plan.txt", cwd=repo)["traces"]
    assert sorted(one["detail"] for one in found) == ["Begin", "Main", "Resolve", "Side"]


def test_a_link_leads_to_the_file_for_git_as_well(instance: Instance, repo: Path) -> None:
    (repo / "src").mkdir(exist_ok=True)
    (repo / "inlink").symlink_to("src")
    commit(repo, "src/orders.py", "1\n", "Orders")
    instance.run("lease", "acquire", "--agent", "b", "src/orders.py")
    instance.run("task", "add", "Mend inlink/orders.py")
    answer = instance.json("who", "inlink/orders.py", cwd=repo)
    assert answer["path"] == "src/orders.py"
    assert {one["what"] for one in answer["traces"]} == {"holds", "committed", "added"}


def test_a_file_that_began_with_the_words_of_another_has_its_own_history_alone(instance: Instance, repo: Path) -> None:
    commit(repo, "README.md", "words\n" * 20, "Words about something else")
    commit(worktree(instance, "a"), "b.txt", "other\n", "By a, before")
    commit(repo, "b.txt", "words\n" * 20, "The same words")
    commit(repo, "b.txt", "words\n" * 21, "And one more")
    found = instance.json("who", "b.txt", cwd=repo)["traces"]
    assert {(one["detail"], one["path"]) for one in found} == {
        (subject, "b.txt") for subject in ("By a, before", "The same words", "And one more")
    }
    assert len(found) == 3
