"""Leases bite in worktrees: git refuses to commit, in whatever way, what somebody else holds."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.population import environment
from tests.faults.support.teams import IDLE, pids, ps, toml
from tests.support import repos
from tests.support.guarded import Guarded, git
from tests.support.instance import Instance
from tests.support.waiting import wait_for

Repo = Callable[..., Path]


@pytest.fixture
def team(instance: Instance, repo: Repo) -> Guarded:
    return Guarded(instance, repo())


def test_a_commit_of_what_somebody_else_holds_is_refused_and_names_the_holder(team: Guarded) -> None:
    lease = team.holds("b", "src/")
    before = team.tip("a")
    team.commit("a", "src/main.py").refused("shop/b", "src/", f"token {lease['token']}", "corral lease acquire")
    assert team.tip("a") == before
    team.git("a", "reset", "--quiet").ok()
    team.commit("a", "README.md").ok()
    team.commit("b", "src/main.py").ok()
    team.release("b", lease)
    team.commit("a", "src/main.py").ok()


def test_what_is_held_shared_refuses_no_commit(team: Guarded) -> None:
    team.holds("b", "--shared", "src/")
    team.commit("a", "src/main.py").ok()


def test_no_way_around_the_first_hook_is_open(team: Guarded) -> None:
    """`--no-verify` and plumbing skip `pre-commit`; the move of the branch is what counts."""
    team.holds("b", "src/")
    before = team.tip("a")
    team.commit("a", "src/main.py", "--no-verify").refused("shop/b")
    tree = team.git("a", "write-tree").ok().out.strip()
    commit = team.git("a", "commit-tree", tree, "-p", "HEAD", "-m", "by hand").ok().out.strip()
    team.git("a", "update-ref", "refs/heads/corral/shop/a", commit).refused("src/main.py")
    team.git("a", "branch", "other", commit).refused("src/main.py")
    team.git("a", "reset", "--hard", commit).refused("src/main.py")
    team.git("a", "checkout", "--quiet", "--detach", commit).refused("src/main.py")
    assert team.tip("a") == before


def test_cherry_pick_am_and_merge_are_refused_as_well(team: Guarded) -> None:
    """The changes are made anew, or come from a commit that no branch has."""
    team.commit("a", "src/main.py").ok()
    mine = team.tip("a")
    patch = team.git("a", "format-patch", "-1", "--stdout").ok().out
    team.git("a", "reset", "--quiet", "--hard", "HEAD^").ok()
    team.holds("b", "src/")
    team.git("a", "cherry-pick", mine).refused("src/main.py")
    team.git("a", "cherry-pick", "--abort").ok()
    file = team.repo.parent / "patch"
    file.write_text(patch)
    team.git("a", "am", str(file)).refused("src/main.py")
    team.git("a", "am", "--abort").ok()
    team.git("a", "commit", "--quiet", "--allow-empty", "--message=Another").ok()
    before = team.tip("a")
    team.git("a", "merge", "--quiet", "--no-edit", mine).refused("src/main.py")
    assert team.tip("a") == before


def test_a_rebase_stops_at_the_commit_that_is_refused_and_can_be_taken_back(team: Guarded) -> None:
    team.commit("a", "src/main.py").ok()
    mine = team.tip("a")
    repos.git(team.repo, "commit", "--quiet", "--allow-empty", "--message=Upstream")
    upstream = repos.git(team.repo, "rev-parse", "HEAD")
    lease = team.holds("b", "src/")
    team.git("a", "rebase", "--quiet", upstream).refused("src/main.py")
    team.git("a", "rebase", "--abort").ok()
    assert team.tip("a") == mine
    team.release("b", lease)
    team.git("a", "rebase", "--quiet", upstream).ok()


def test_what_others_committed_is_merged_though_they_hold_it(team: Guarded) -> None:
    """What is in the repository already is nobody's doing here, and a message can be mended."""
    team.commit("a", "src/own.py").ok()
    team.holds("b", "src/")
    team.commit("b", "src/main.py").ok()
    team.git("a", "merge", "--quiet", "--no-edit", "corral/shop/b").ok()
    team.git("a", "commit", "--quiet", "--amend", "--message=Better said").ok()
    team.write("a", "src/main.py")
    team.git("a", "commit", "--quiet", "--amend", "--no-edit", "--no-verify").refused("src/main.py")


def test_a_conflict_is_resolved_only_by_who_may_write_the_file(team: Guarded) -> None:
    lease = team.holds("a", "README.md")
    team.commit("a", "README.md").ok()
    team.release("a", lease)
    team.holds("b", "README.md")
    team.write("b", "README.md", "something else\n")
    team.git("b", "commit", "--quiet", "--message=Mine").ok()
    assert team.git("a", "merge", "--quiet", "corral/shop/b").code == 1
    (team.worktree("a") / "README.md").write_text("both\n")
    team.git("a", "add", "README.md").ok()
    team.git("a", "commit", "--quiet", "--message=Resolved").refused("README.md")
    team.git("a", "merge", "--abort").ok()


def test_both_sides_of_a_rename_count(team: Guarded) -> None:
    team.holds("b", "src/main.py", "new.py")
    team.git("a", "mv", "src/main.py", "elsewhere.py").ok()
    team.git("a", "commit", "--quiet", "--message=Away").refused("src/main.py")
    team.git("a", "reset", "--quiet", "--hard").ok()
    team.git("a", "mv", "README.md", "new.py").ok()
    team.git("a", "commit", "--quiet", "--message=Here").refused("new.py")


def test_a_branch_without_a_commit_is_checked_as_well(team: Guarded) -> None:
    team.holds("b", "src/")
    team.git("a", "checkout", "--quiet", "--orphan", "new").ok()
    team.git("a", "commit", "--quiet", "--message=All anew").refused("src/main.py")
    team.git("a", "rm", "--quiet", "--cached", "-r", "src").ok()
    team.git("a", "commit", "--quiet", "--message=All but that").ok()


def test_only_what_is_committed_counts(team: Guarded) -> None:
    team.holds("b", "src/")
    team.write("a", "src/main.py")
    team.write("a", "README.md")
    team.git("a", "commit", "--quiet", "--message=The other one", "README.md").ok()
    assert team.git("a", "show", "--name-only", "--format=").ok().out == "README.md\n"


def test_names_of_any_bytes_are_held_and_checked(team: Guarded) -> None:
    team.holds("b", "odd/")
    done = team.commit("a", b"odd/\xff\xfe\tname\n.txt").refused("odd/\\xff\\xfe\\tname\\n.txt")
    assert "\t" not in done.err
    team.git("a", "reset", "--quiet", "--hard").ok()
    team.commit("a", b"\xff[1]*.txt").ok()


def test_names_are_one_whatever_their_case_where_git_says_so(instance: Instance, repo: Repo) -> None:
    where = repo()
    repos.git(where, "config", "core.ignorecase", "true")
    team = Guarded(instance, where)
    team.holds("b", "Src/*.PY")
    team.commit("a", "src/main.py").refused("src/main.py")


def test_a_submodule_is_one_path(instance: Instance, repo: Repo) -> None:
    where, inner = repo(), repo(name="inner")
    repos.git(where, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "libs/inner")
    repos.git(where, "commit", "--quiet", "--message=Have a submodule")
    # What git is told not to show is there all the same.
    repos.git(where, "config", "submodule.libs/inner.ignore", "all")
    team = Guarded(instance, where)
    team.holds("b", "libs/")
    other = repos.git(inner, "commit-tree", "HEAD^{tree}", "-m", "other")
    team.git("a", "update-index", "--cacheinfo", f"160000,{other},libs/inner").ok()
    team.git("a", "commit", "--quiet", "--message=Another one").refused("libs/inner")


@pytest.mark.parametrize("held", ["libs/inner/", "libs/inner/src/main.py", "**/*.py"])
def test_whoever_holds_something_in_a_submodule_holds_it_in_place(instance: Instance, repo: Repo, held: str) -> None:
    where, inner = repo(), repo(name="inner")
    repos.git(where, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "libs/inner")
    repos.git(where, "commit", "--quiet", "--message=Have a submodule")
    team = Guarded(instance, where)
    team.holds("b", held)
    other = repos.git(inner, "commit-tree", "HEAD^{tree}", "-m", "other")
    team.git("a", "update-index", "--cacheinfo", f"160000,{other},libs/inner").ok()
    team.git("a", "commit", "--quiet", "--message=Another one").refused("libs/inner/")
    team.git("a", "commit", "--quiet", "--no-verify", "--message=Another one").refused("libs/inner/")


def test_a_pointer_of_lfs_is_a_path_like_any_other(team: Guarded) -> None:
    team.holds("b", "*.bin")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    team.write("a", ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    file = team.repo.parent / "pointer"
    file.write_text(pointer)
    blob = team.git("a", "hash-object", "-w", str(file)).ok().out.strip()
    team.git("a", "update-index", "--add", "--cacheinfo", f"100644,{blob},big.bin").ok()
    team.git("a", "commit", "--quiet", "--message=Large").refused("big.bin")


def test_the_stash_of_the_person_is_not_cleared(team: Guarded) -> None:
    for text in ("one\n", "two\n"):
        (team.repo / "README.md").write_text(text)
        repos.git(team.repo, "stash", "--quiet")
    team.git("a", "stash", "clear").refused("one for all worktrees")
    team.git("a", "pack-refs", "--all").ok()
    team.git("a", "stash", "clear").refused("one for all worktrees")
    assert len(repos.git(team.repo, "stash", "list").splitlines()) == 2


def test_no_tag_makes_known_what_was_never_allowed(team: Guarded) -> None:
    """What a tag has counts as known, so a tag is looked at as a branch is; what is fetched is others' doing."""
    team.holds("b", "src/")
    team.write("a", "src/main.py")
    tree = team.git("a", "write-tree").ok().out.strip()
    commit = team.git("a", "commit-tree", tree, "-p", "HEAD", "-m", "by hand").ok().out.strip()
    team.git("a", "tag", "way-round", commit).refused("src/main.py")
    team.git("a", "tag", "--annotate", "--message=x", "way-round", commit).refused("src/main.py")
    team.git("a", "tag", "mark").ok()
    team.git("a", "tag", "--force", "mark", commit).refused("src/main.py")
    team.git("a", "tag", "of-a-file", "HEAD:README.md").ok()
    elsewhere = team.repo.parent / "elsewhere"
    repos.git(team.repo, "clone", "--quiet", str(team.repo), str(elsewhere))
    (elsewhere / "src" / "main.py").write_text("released\n")
    repos.git(elsewhere, "commit", "--quiet", "--all", "--message=Release")
    repos.git(elsewhere, "tag", "v1")
    team.git("a", "-c", "fetch.prune=false", "fetch", "--quiet", str(elsewhere), "refs/tags/v1:refs/tags/v1").ok()
    team.git("a", "reset", "--quiet", "--hard").ok()
    team.git("a", "checkout", "--quiet", "v1").ok()


def test_a_branch_that_was_to_become_the_target_is_not_lost(team: Guarded) -> None:
    """git takes the old name away before it asks about the new one."""
    repos.git(team.repo, "switch", "--quiet", "--create", "elsewhere")
    team.commit("a", "src/mine.py").ok()
    mine, main = team.tip("a"), repos.git(team.repo, "rev-parse", "main")
    team.git("a", "branch", "-M", "main").refused("corral merge submit")
    assert team.tip("a") == mine
    assert "Change 'src/mine.py'" in team.git("a", "reflog", "show", "corral/shop/a").ok().out
    team.git("a", "branch", "feature").ok()
    team.git("a", "branch", "-M", "feature", "main").refused("corral merge submit")
    assert repos.git(team.repo, "rev-parse", "main", "feature").split() == [main, mine]
    team.git("a", "branch", "-m", "feature", "another").ok()
    team.git("a", "branch", "-d", "another").ok()


def test_the_branch_of_another_agent_is_moved_by_nobody_else(team: Guarded) -> None:
    team.commit("b", "src/theirs.py").ok()
    theirs, branch = team.tip("b"), "corral/shop/b"
    for packed in (False, True):
        if packed:
            team.git("a", "pack-refs", "--all").ok()
        team.git("a", "update-ref", f"refs/heads/{branch}", "HEAD").refused(f"{branch} is the branch of shop/b")
        team.git("a", "update-ref", "-d", f"refs/heads/{branch}").refused("corral msg send shop/b")
        assert repos.git(team.repo, "rev-parse", branch) == theirs
    team.git("a", "merge", "--quiet", "--no-edit", branch).ok()
    team.commit("b", "src/theirs.py").ok()


def test_what_an_agent_does_all_day_goes_on(team: Guarded) -> None:
    team.holds("b", "src/")
    team.commit("a", "README.md").ok()
    repos.git(team.repo, "commit", "--quiet", "--allow-empty", "--message=Upstream")
    other = team.repo.parent / "other"
    for words in (
        ("switch", "--quiet", "--create", "feature"),
        ("commit", "--quiet", "--allow-empty", "--message=On it"),
        ("checkout", "--quiet", "-b", "second"),
        ("checkout", "--quiet", "corral/shop/a"),
        ("rebase", "--quiet", "main"),
        ("merge", "--quiet", "--no-edit", "feature"),
        ("revert", "--no-edit", "HEAD~1"),
        ("tag", "mark"),
        ("reset", "--quiet", "--hard", "HEAD^"),
        ("worktree", "add", "--quiet", str(other), "second"),
        ("worktree", "remove", str(other)),
        ("branch", "--quiet", "-D", "second"),
        ("symbolic-ref", "HEAD", "refs/heads/feature"),
        ("symbolic-ref", "HEAD", "refs/heads/corral/shop/a"),
        ("checkout", "--quiet", "--detach"),
        ("checkout", "--quiet", "corral/shop/a"),
        ("fetch", "--quiet", "."),
        ("gc", "--quiet"),
    ):
        team.git("a", *words).ok()


def test_git_that_tells_of_symbolic_refs_goes_on(team: Guarded) -> None:
    """Since 2.46 it does, when another branch is checked out; and a commit's old value may be zeros."""
    team.holds("b", "src/")
    lease = team.holds("a", "README.md")
    team.commit("a", "README.md").ok()
    team.release("a", lease)
    zero, branch = "0" * 40, "refs/heads/corral/shop/a"
    team.transaction("a", f"{zero} ref:refs/heads/other HEAD").ok()
    team.transaction("a", f"ref:{branch} ref:refs/heads/other HEAD").ok()
    team.holds("b", "README.md")
    tree = team.git("a", "rev-parse", "HEAD^{tree}").ok().out.strip()
    said_better = team.git("a", "commit-tree", tree, "-p", "HEAD^", "-m", "better").ok().out.strip()
    team.transaction("a", f"{zero} {said_better} HEAD", f"{team.tip('a')} {said_better} {branch}").ok()
    team.transaction("a", f"{zero} {said_better} HEAD").ok()
    team.write("a", "src/main.py")
    tree = team.git("a", "write-tree").ok().out.strip()
    bad = team.git("a", "commit-tree", tree, "-p", "HEAD", "-m", "bad").ok().out.strip()
    team.transaction("a", f"{zero} {bad} HEAD").refused("src/main.py")


def test_a_hook_that_is_copied_over_one_of_ours_replaces_no_other(team: Guarded) -> None:
    team.holds("b", "src/")
    hooks = Path(team.git("a", "rev-parse", "--path-format=absolute", "--git-path", "hooks").ok().out.strip())
    theirs = team.repo.parent / "commit-msg"
    theirs.write_text("#!/bin/sh\n")
    subprocess.run(["cp", "--force", str(theirs), str(hooks / "commit-msg")], check=True)
    team.commit("a", "src/main.py").refused("shop/b")


def test_a_restart_writes_hooks_anew(team: Guarded) -> None:
    team.holds("b", "src/")
    hooks = Path(team.instance.home, "hooks", "shop", "a")
    (hooks / "pre-commit").unlink()
    (hooks / "reference-transaction").unlink()
    team.instance.run("restart", "a")
    team.commit("a", "src/main.py").refused("shop/b")


def test_a_restart_by_policy_brings_back_all_that_somebody_removed(instance: Instance, repo: Repo) -> None:
    """The hooks of its worktree, and Corral in the file of a coding agent that is to be told of it."""
    where = repo()
    program = Path(instance.directory, "claude")
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    agents: dict[str, dict[str, object]] = {
        "a": {"command": [str(program)], "restart": "always"},
        "b": {"command": IDLE},
    }
    instance.spec(toml(agents, repo=where).replace("[team]", "[team]\nmcp = true"))
    instance.run("up")
    instance.json("lease", "acquire", "--agent", "b", "src/")
    worktree = Path(instance.home, "worktrees", "shop", "a")
    shutil.rmtree(Path(instance.home, "hooks", "shop", "a"))
    (worktree / ".mcp.json").unlink()
    os.kill(pids(instance)["a"], signal.SIGKILL)
    wait_for(lambda: ps(instance)["a"]["restarts"] == 1 and ps(instance)["a"]["state"] == "running")
    assert (worktree / ".mcp.json").exists()
    (worktree / "src" / "main.py").write_text("mine\n")
    git(worktree, "commit", "--quiet", "--all", "--message=Mine").refused("shop/b")


def test_a_stash_of_the_persons_does_not_keep_git_from_tidying_up(team: Guarded) -> None:
    (team.repo / "README.md").write_text("half done\n")
    repos.git(team.repo, "stash", "--quiet")
    team.git("a", "pack-refs", "--all").ok()
    team.git("a", "gc", "--quiet").ok()
    assert repos.git(team.repo, "stash", "list") != ""


def test_the_target_of_the_merge_queue_is_moved_by_the_queue_alone(team: Guarded) -> None:
    target = repos.git(team.repo, "symbolic-ref", "--short", "HEAD")
    before = repos.git(team.repo, "rev-parse", target)
    # Nobody has it checked out: then git itself would refuse some of it.
    repos.git(team.repo, "checkout", "--quiet", "--detach")
    team.commit("a", "src/mine.py").ok()
    for words in (
        ("update-ref", f"refs/heads/{target}", "HEAD"),
        ("push", "--quiet", ".", f"HEAD:{target}"),
        ("fetch", "--quiet", ".", f"HEAD:{target}"),
        ("branch", "--force", target, "HEAD"),
    ):
        team.git("a", *words).refused(f"{target} is moved by the team's merge queue", "corral merge submit")
    assert repos.git(team.repo, "rev-parse", target) == before
    team.git("a", "gc", "--quiet").ok()  # packs the ref, and moves nothing
    team.git("b", "checkout", "--quiet", target).ok()
    team.commit("b", "src/theirs.py").refused("corral merge submit")
    team.up('[enforcement]\ntarget = "allow"')
    team.git("a", "update-ref", f"refs/heads/{target}", "HEAD").ok()


def test_the_stash_is_guarded_and_nothing_is_lost_by_it(team: Guarded) -> None:
    team.write("a", "README.md")
    team.git("a", "stash").refused("one for all worktrees", "git commit -m wip", "[enforcement]")
    assert "changed" in team.git("a", "diff", "HEAD").out
    assert repos.git(team.repo, "stash", "list") == ""
    team.up('[enforcement]\nstash = "allow"')
    team.git("a", "stash").ok()
    assert team.git("a", "diff", "HEAD").out == ""
    team.up()
    # git asks no hook before it takes something out; to refuse the rest of that would leave half of it.
    team.git("a", "stash", "pop").ok()
    assert "changed" in team.git("a", "diff", "HEAD").out


def test_hooks_are_off_where_the_team_wants_none(team: Guarded) -> None:
    team.holds("b", "src/")
    team.up("[enforcement]\nworktrees = false")
    team.commit("a", "src/main.py").ok()
    assert not os.path.exists(os.path.join(team.instance.home, "hooks"))
    assert "corral" not in repos.git(team.repo, "config", "--local", "--list")
    assert "extensions" not in repos.git(team.repo, "config", "--local", "--list")
    team.up()
    team.write("a", "src/main.py", "again\n")
    team.git("a", "commit", "--quiet", "--message=Again").refused("shop/b")


@pytest.mark.parametrize("answer", ["deny", "allow"])
def test_a_daemon_that_is_not_there_is_told_loudly(instance: Instance, repo: Repo, answer: str) -> None:
    team = Guarded(instance, repo(), settings=f'[enforcement]\nunreachable = "{answer}"')
    instance.run("daemon", "stop")
    done = team.commit("a", "README.md")
    if answer == "deny":
        done.refused("daemon is not running", "corral daemon start", 'unreachable = "allow"')
    else:
        assert "NOT CHECKED" in done.ok().err
        assert "daemon is not running" in done.err
    instance.run("daemon", "start")


def test_a_daemon_that_does_not_answer_counts_as_not_there(team: Guarded) -> None:
    pid = int(team.instance.json("daemon", "status")["pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        team.commit("a", "README.md").refused("did not answer")
    finally:
        os.kill(pid, signal.SIGCONT)
    team.git("a", "commit", "--quiet", "--message=Now").ok()


def test_corral_that_is_gone_is_told_as_well(team: Guarded) -> None:
    script = Path(team.instance.home, "hooks", "shop", "a", "pre-commit")
    script.chmod(0o700)
    script.write_text(script.read_text().replace("corral.hook.git_hook", "corral.hook.gone"))
    team.commit("a", "README.md").refused("Corral's hook failed", "is it still installed at")


def test_an_agent_that_was_stopped_and_lost_its_lease_is_refused_by_its_token(team: Guarded) -> None:
    """It was held up; meanwhile its lease went to another, who has done with it. What it meant to write is too old."""
    mine = team.holds("a", "src/")
    agent = pids(team.instance)["a"]
    go = team.repo.parent / "go"
    script = f"echo mine >> src/main.py; until [ -e {go} ]; do sleep 0.01; done; git commit -qam mine"
    of_agent = {name: value for name, value in environment(agent).items() if name.startswith("CORRAL_")}
    worker = subprocess.Popen(
        ["sh", "-c", script],
        cwd=team.worktree("a"),
        env={**os.environ, **of_agent},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for pid in (agent, worker.pid):
            os.kill(pid, signal.SIGSTOP)
        team.release("a", mine)  # by a person: it does not answer any more
        theirs = team.holds("b", "src/main.py")
        assert theirs["token"] > mine["token"]
        team.commit("b", "src/main.py").ok()
        team.release("b", theirs)
        go.touch()
    finally:
        for pid in (agent, worker.pid):
            os.kill(pid, signal.SIGCONT)
    _, complaint = worker.communicate(timeout=60)
    assert worker.returncode != 0
    assert f"(token {mine['token']}) is lost: shop/b got src/main.py (token {theirs['token']})" in complaint
    again = team.holds("a", "src/")
    assert again["token"] > theirs["token"]
    team.git("a", "commit", "--quiet", "--all", "--message=Mine").ok()


def test_what_an_earlier_run_left_behind_cannot_write_what_the_present_one_holds(team: Guarded) -> None:
    old = {name: value for name, value in environment(pids(team.instance)["a"]).items() if name.startswith("CORRAL_")}
    team.instance.run("restart", "a")
    assert wait_for(lambda: pids(team.instance)["a"], what="it runs again")
    team.holds("a", "src/")
    team.write("a", "src/main.py")
    team.git("a", "commit", "--quiet", "--message=Late", env=old).refused("earlier run")
    team.git("a", "commit", "--quiet", "--message=Now").ok()


def test_who_works_in_another_agents_worktree_writes_in_its_own_name(team: Guarded) -> None:
    own = {name: value for name, value in environment(pids(team.instance)["b"]).items() if name.startswith("CORRAL_")}
    team.holds("b", "src/")
    team.write("a", "src/main.py")
    team.git("a", "commit", "--quiet", "--message=Helped", env=own).ok()
    team.write("a", "src/main.py", "more\n")
    stranger = {**own, "CORRAL_TEAM": "toys"}
    team.git("a", "commit", "--quiet", "--message=Meddled", env=stranger).refused("shop/b")


def test_a_person_of_the_repository_itself_is_not_asked(team: Guarded) -> None:
    team.holds("b", "src/")
    (team.repo / "src" / "main.py").write_text("mine\n")
    git(team.repo, "commit", "--quiet", "--all", "--message=Mine").ok()
