"""Agents of another user in a person's team with a repository: each has a copy, and the repository is the person's."""

import json
import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.people import down, events, keeper, leave, spec
from tests.lab.support.shared import remove_keeper_place, shared_server, system, tidy
from tests.lab.support.users import Result, User
from tests.support.waiting import wait_for

BUILDER = User("agent-builder")
WORKTREE = f"/srv/corral/{BUILDER.name}/shop/builder"
COPY = f"/srv/corral/{BUILDER.name}/shop/.corral-copy.git"
TEAM = """
[team]
name = "shop"
repo = "{repo}"
{more}
[agents.api]
command = ["sleep", "1000"]
[agents.builder]
command = ["sleep", "1000"]
run_as = "agent-builder"
"""
#: What keeps an agent from moving branches of others is for agents that mean no harm.
FREE = "-c core.hooksPath=/dev/null"
WHO = "-c user.name=x -c user.email=x@example.org"


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """With a user for agents of ann's, made as the documentation says; her service manager is not started again."""
    system("useradd", "--create-home", "--shell", "/bin/bash", BUILDER.name)
    try:
        with shared_server(User("ann"), User("ben")):
            system("corral", "member", "add", BUILDER.name, "--role", "agent", "--of", "ann")
            BUILDER.systemctl("start", "dbus.service")
            yield
            system("loginctl", "disable-linger", BUILDER.name)
    finally:
        system("systemctl", "stop", f"user@{BUILDER.uid}.service", check=False)
        system("gpasswd", "--delete", "ann", BUILDER.name)
        system("userdel", "--remove", BUILDER.name)


@pytest.fixture
def server(one_server: None, ann: User, ben: User) -> Iterator[None]:
    yield
    leave(ann, ben)
    BUILDER.systemctl("stop", "corral-keeper.service", check=False)
    system("rm", "-rf", f"{BUILDER.home}/.local", f"{BUILDER.runtime_dir}/corral-host", f"/srv/corral/{BUILDER.name}")
    remove_keeper_place(BUILDER)
    tidy(ann, ben)
    system("rm", "-rf", f"{ann.home}/code")


@pytest.fixture
def repo(server: None, ann: User) -> Path:
    """In her home, into which nobody else gets, with a umask that lets nobody see anything."""
    path = Path(ann.home, "code", "shop")
    begin = f"git init --quiet --initial-branch=main {path} && cd {path} && echo begin >begin && git add begin"
    ann.run("sh", "-c", f"umask 077; chmod 0700 ~; {begin} && git {WHO} commit --quiet --message begin")
    return path


def up(ann: User, repo: Path, more: str = "") -> None:
    ann.run("corral", "up", "--json", cwd=spec(ann, "shop", TEAM.format(repo=repo, more=more)))
    wait_for(lambda: branch(ann, repo), what="its branch is in the repository")


def agent(ann: User, name: str, script: str, *, check: bool = True) -> Result:
    """Have an agent's shell do something in its worktree."""
    return ann.run("corral", "exec", f"shop/{name}", "--", "sh", "-c", script, check=check)


def committed(ann: User, name: str, file: str) -> str:
    """Have an agent commit a file; the commit."""
    done = agent(ann, name, f"echo {file} >{file} && git add {file} && git {WHO} commit --quiet --message {file}")
    assert done.stdout == ""
    return agent(ann, name, "git rev-parse HEAD").stdout.strip()


def git(ann: User, repo: Path, *words: str, check: bool = True) -> str:
    return ann.run("git", "-C", str(repo), *WHO.split(), *words, check=check).stdout.strip()


def branch(ann: User, repo: Path, name: str = "corral/shop/builder") -> str:
    return git(ann, repo, "rev-parse", "--verify", "--quiet", f"refs/heads/{name}", check=False)


def others(ann: User, repo: Path) -> list[str]:
    """What the repository has that is not the agent's."""
    return [line for line in git(ann, repo, "for-each-ref").splitlines() if not line.endswith("/corral/shop/builder")]


def whose(repo: Path) -> set[int]:
    """Whose the files of the repository are; an ACL anywhere would be somebody else's, too."""
    found = set()
    for directory, names, files in os.walk(repo):
        for path in (os.path.join(directory, name) for name in ("", *names, *files)):
            found.add(os.lstat(path).st_uid)
            assert not [name for name in os.listxattr(path, follow_symlinks=False) if "acl" in name], path
    return found


def test_what_either_commits_is_soon_with_the_other_and_nothing_of_it_stays(
    server: None, ann: User, repo: Path
) -> None:
    up(ann, repo)
    assert git(ann, repo, "worktree", "list").count("\n") == 1, "her own checkout and that of her own agent"
    for turn in ("one", "two"):
        tip = committed(ann, "builder", turn)
        wait_for(lambda: branch(ann, repo) == tip, what="it was handed in")  # noqa: B023
        git(ann, repo, "merge", "--quiet", "--no-ff", "--message", turn, "corral/shop/builder")
        main = branch(ann, repo, "main")
        seen = "git rev-parse main"
        wait_for(lambda: agent(ann, "builder", seen).stdout.strip() == main, what="it was brought")  # noqa: B023
        agent(ann, "builder", "git merge --quiet --ff-only main")
        git(ann, repo, "gc", "--quiet", "--prune=now")
        agent(ann, "builder", "git gc --quiet --prune=now")
    assert git(ann, repo, "fsck", "--strict", "--no-dangling") == ""
    assert whose(repo) == {ann.uid}
    assert {Path(COPY).stat().st_uid, Path(WORKTREE).stat().st_uid} == {BUILDER.uid}
    # Who put it there, and what was there before, is told and can be proved.
    (moved, *_) = (one for one in events(ann) if one["event"] == "agent.handed_in")
    assert (moved["agent"], moved["data"]["user"], moved["data"]["before"]) == ("builder", BUILDER.name, "")
    noted = system("corral", "audit", "export", "--format", "jsonl", "--agent", "shop/builder").stdout
    assert f'"commit":"{moved["data"]["commit"]}"' in noted.replace(": ", ":")
    # Files of Corral's are hidden from git, as everywhere.
    who = json.loads(ann.run("corral", "who", "--json", "--team", "shop", "two").stdout)
    assert who["unseen"] == []
    receipt = down(ann, "shop")
    assert (receipt["clean"], receipt["kept"]) == (True, [])
    assert git(ann, repo, "branch", "--list", "corral/*") == ""
    assert "corral" not in (repo / ".git" / "config").read_text()
    assert not os.path.exists(f"/srv/corral/{BUILDER.name}/shop")


@pytest.mark.parametrize(
    "deed",
    [
        "cat {repo}/.git/config",
        "ls {repo}",
        "git -C {repo} log",
        "git push {repo} HEAD:refs/heads/evil",
        "git fetch {repo}",
        "touch {repo}/.git/hooks/post-commit",
        "ls /home/ann",
        "ls /srv/corral/ann/shop/api",
        "ls $XDG_RUNTIME_DIR/../{ann}/corral-host",
    ],
)
def test_the_repository_is_not_there_for_it_in_any_way(server: None, ann: User, repo: Path, deed: str) -> None:
    up(ann, repo)
    before = git(ann, repo, "for-each-ref")
    done = agent(ann, "builder", deed.format(repo=repo, ann=ann.uid), check=False)
    assert done.returncode != 0, done.stdout
    assert git(ann, repo, "for-each-ref") == before
    assert down(ann, "shop")["clean"]


def test_what_it_does_in_its_copy_moves_no_branch_but_its_own(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    tip = committed(ann, "api", "hers")
    before = others(ann, repo)
    deeds = (
        f"git {FREE} update-ref refs/heads/main $(git {WHO} commit-tree -m x HEAD^{{tree}})",
        f"git {FREE} update-ref refs/heads/corral/shop/api $(git {WHO} commit-tree -m x HEAD^{{tree}})",
        f"git {FREE} update-ref refs/heads/corral/shop/web $(git {WHO} commit-tree -m x HEAD^{{tree}})",
        f"git {FREE} tag evil",
        f"git {FREE} update-ref refs/corral/theirs/heads/main $(git rev-parse corral/shop/api)",
        f"git {FREE} update-ref refs/replace/{tip} $(git {WHO} commit-tree -m x HEAD^{{tree}})",
        f"ln -s /home/ann {COPY}/worktrees/evil",
        f"mkfifo {COPY}/BISECT_START",
        f"printf '[uploadpack]\\n\\tpackObjectsHook = touch {ann.home}/evil\\n' >>{COPY}/config",
        f"echo refs/heads/main >{COPY}/worktrees/builder/BISECT_START",
    )
    for deed in deeds:
        agent(ann, "builder", deed)
    mine = committed(ann, "builder", "mine")
    wait_for(lambda: branch(ann, repo) == mine, what="its own is handed in all the same")
    assert others(ann, repo) == before
    assert git(ann, repo, "fsck", "--strict", "--no-dangling") == ""
    assert whose(repo) == {ann.uid}
    assert not os.path.exists(f"{ann.home}/evil")
    # It is not in the way of merges either, and git of hers waits for nothing.
    done = json.loads(
        ann.run(
            "corral", "merge", "submit", "corral/shop/api", "--wait", "60s", "--json", cwd=f"{ann.home}/shop"
        ).stdout
    )
    assert done["state"] == "merged", done
    agent(
        ann,
        "builder",
        f"rm -f {COPY}/BISECT_START {COPY}/worktrees/evil {COPY}/BISECT_START {COPY}/worktrees/builder/BISECT_START",
    )
    down(ann, "shop", "--discard")


def test_what_was_merged_stays_what_it_was_whatever_becomes_of_the_objects_in_the_copy(
    server: None, ann: User, repo: Path
) -> None:
    up(ann, repo)
    tip = committed(ann, "builder", "one")
    blob = agent(ann, "builder", "git rev-parse HEAD:one").stdout.strip()
    path = f"{COPY}/objects/{blob[:2]}/{blob[2:]}"
    agent(ann, "builder", f"ln {path} keep")
    wait_for(lambda: branch(ann, repo) == tip, what="it was handed in")
    git(ann, repo, "merge", "--quiet", "corral/shop/builder")
    agent(ann, "builder", f"chmod u+w keep && echo evil >keep && rm -f {path}")
    assert (repo / "one").read_text() == git(ann, repo, "show", "main:one") + "\n" == "one\n"
    assert git(ann, repo, "fsck", "--strict", "--no-dangling") == ""
    down(ann, "shop", "--discard")


def test_what_is_not_whole_does_not_come_in_and_it_is_told(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    mark = events(ann)[-1]["seq"]
    tree = f"printf '100644 blob {'1' * 40}\\tx\\n' | git mktree --missing"
    forge = f"commit=$(git {WHO} commit-tree -p HEAD -m x $({tree})) && git {FREE} update-ref HEAD $commit"
    agent(ann, "builder", forge)

    def told() -> list[str]:
        return [one["data"]["reason"] for one in events(ann, mark) if one["event"] == "agent.degraded"]

    wait_for(told, what="it is told of")
    assert re.match(r"what it committed did not come into the repository: ", told()[0])
    assert branch(ann, repo) == branch(ann, repo, "main")
    done = agent(ann, "builder", "corral merge submit --json", check=False)
    assert (done.returncode, "did not come in" in done.stdout + done.stderr) == (4, True), done
    receipt = down(ann, "shop", "--discard")
    assert receipt["clean"], receipt


def test_it_submits_what_it_committed_and_finds_it_merged(server: None, ann: User, repo: Path) -> None:
    up(ann, repo, '[merge]\ngates = ["test -f one"]')
    tip = committed(ann, "builder", "one")
    done = json.loads(agent(ann, "builder", "corral merge submit --wait 60s --json").stdout)
    assert (done["state"], done["tip"], done["agent"]) == ("merged", tip, "shop/builder"), done
    main = branch(ann, repo, "main")
    wait_for(lambda: agent(ann, "builder", "git rev-parse main").stdout.strip() == main, what="it finds it merged")
    agent(ann, "builder", "echo more >>one")
    done = json.loads(agent(ann, "builder", "corral merge submit --json").stdout)
    assert "1 file is changed" in done["note"]
    agent(ann, "builder", "git checkout --quiet one")
    # One that is forked from it works in the same copy, with the same commit.
    ann.run("corral", "fork", "shop/builder", "second")
    fork = committed(ann, "second", "two")
    assert agent(ann, "second", "git rev-parse HEAD~").stdout.strip() == tip
    wait_for(lambda: branch(ann, repo, "corral/shop/second") == fork, what="it was handed in as well")
    down(ann, "shop", "--discard")
    assert git(ann, repo, "branch", "--list", "corral/*") == ""


def test_it_submits_what_comes_into_the_repository_and_nothing_else(server: None, ann: User, repo: Path) -> None:
    git(ann, repo, "branch", "feature")
    up(ann, repo)
    before = branch(ann, repo, "feature")
    for name in ("feature", "own"):
        agent(ann, "builder", f"git switch --quiet {name} || git switch --quiet --create {name}")
        committed(ann, "builder", f"on-{name}")
        done = agent(ann, "builder", "corral merge submit", check=False)
        said = f"{name} as it is now is in builder's copy of the repository alone"
        assert (done.returncode, said in done.stdout + done.stderr) == (4, True), done
    assert branch(ann, repo, "feature") == before
    # As it says. What the agent has made of the target in its copy keeps nothing from going in.
    agent(ann, "builder", f"git switch --quiet corral/shop/builder && git {WHO} merge --quiet own")
    agent(ann, "builder", f"git {FREE} update-ref -d refs/heads/main")
    done = json.loads(agent(ann, "builder", "corral merge submit --wait 60s --json").stdout)
    assert done["state"] == "merged", done
    down(ann, "shop", "--discard")


def test_work_is_kept_with_its_copy_until_it_is_gone(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    tip = committed(ann, "builder", "one")
    receipt = down(ann, "shop")
    assert [(kept["path"], kept["why"]) for kept in receipt["kept"]] == [(WORKTREE, "1 commit that is nowhere else")]
    assert branch(ann, repo) == tip, "it was handed in at the latest now"
    up(ann, repo)
    committed(ann, "builder", "two")
    receipt = down(ann, "shop", "--discard")
    assert receipt["clean"]
    assert len(receipt["discarded"]) == 1
    assert git(ann, repo, "branch", "--list", "corral/*") == ""
    assert not os.path.exists(f"/srv/corral/{BUILDER.name}/shop")


def test_what_she_committed_on_its_branch_is_not_put_aside(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    tip = committed(ann, "builder", "one")
    wait_for(lambda: branch(ann, repo) == tip, what="it was handed in")
    git(ann, repo, "switch", "--quiet", "corral/shop/builder")
    git(ann, repo, "commit", "--quiet", "--allow-empty", "--message", "hers")
    hers = branch(ann, repo)
    git(ann, repo, "switch", "--quiet", "main")
    committed(ann, "builder", "two")
    done = agent(ann, "builder", "corral merge submit", check=False)
    assert (done.returncode, "has commits that builder has not" in done.stdout + done.stderr) == (4, True), done
    asked = ann.run("corral", "merge", "submit", "corral/shop/builder", cwd=f"{ann.home}/shop", check=False)
    assert "have builder merge them, or keep them" in asked.stderr
    assert branch(ann, repo) == hers
    agent(ann, "builder", f"git {WHO} merge --quiet -m both refs/corral/theirs/heads/corral/shop/builder")
    assert agent(ann, "builder", "corral merge submit --wait 60s").returncode == 0
    assert git(ann, repo, "merge-base", "--is-ancestor", hers, "main", check=False) == ""
    assert down(ann, "shop")["clean"]


def up_with_access(ann: User, repo: Path, access: str) -> None:
    team = TEAM.format(repo=repo, more="") + f"[agents.builder.access]\n{access}\n"
    ann.run("corral", "up", "--json", cwd=spec(ann, "shop", team))
    # Kept from tidying up, git may say so, and commits all the same.
    agent(ann, "builder", f"mkdir -p src && echo y >src/y && git add src/y && git {WHO} commit --quiet -m y")
    tip = agent(ann, "builder", "git rev-parse HEAD").stdout.strip()
    wait_for(lambda: branch(ann, repo) == tip, what="it was handed in")


def test_it_is_kept_to_what_it_may_write_when_it_commits(server: None, ann: User, repo: Path) -> None:
    up_with_access(ann, repo, 'write = ["src/*"]\nenforce = "commit"')
    done = agent(ann, "builder", f"echo x >outside && git add outside && git {WHO} commit -m x", check=False)
    assert (done.returncode, "outside" in done.stdout) == (1, True), done
    down(ann, "shop", "--discard")


@pytest.mark.full_machine
def test_the_kernel_keeps_it_to_what_it_may_touch_of_its_copy(server: None, ann: User, repo: Path) -> None:
    up_with_access(ann, repo, 'write = ["src/**"]\nenforce = "kernel"')
    assert agent(ann, "builder", "echo x >outside", check=False).returncode != 0
    assert agent(ann, "builder", f"echo x >>{COPY}/config", check=False).returncode != 0
    down(ann, "shop", "--discard")


def test_the_keepers_may_die_on_the_way(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    for user in (ann, BUILDER):
        tip = agent(
            ann,
            "builder",
            f"for n in 1 2 3; do git {WHO} commit --quiet --allow-empty -m {user.name}$n; done; git rev-parse HEAD",
        ).stdout.strip()
        os.kill(keeper(user), signal.SIGKILL)
        wait_for(lambda: branch(ann, repo) == tip, what="it comes in, without the keeper of before")  # noqa: B023
    # And what comes after that is told of by the new ones.
    tip = committed(ann, "builder", "last")
    wait_for(lambda: branch(ann, repo) == tip, what="it is followed again")
    assert os.listdir(f"{ann.home}/.local/state/corral-host/incoming") == []
    down(ann, "shop", "--discard")


def doctor(user: User | None) -> list[tuple[str, str]]:
    """What it finds wrong with the team and what is left of it, and what helps."""
    words = ("corral", "doctor", "--json")
    said = system(*words, check=False) if user is None else user.run(*words, check=False)
    about = ("stray_sessions", "worktrees", "lost_sessions", "orphans")
    return [(one["subject"], one["remedy"]) for one in json.loads(said.stdout)["findings"] if one["check"] in about]


def test_the_doctor_finds_nothing_in_a_team_whose_agents_are_all_of_another_user(
    server: None, ann: User, repo: Path
) -> None:
    alone = TEAM.replace('[agents.api]\ncommand = ["sleep", "1000"]\n', "")
    ann.run("corral", "up", "--json", cwd=spec(ann, "shop", alone.format(repo=repo, more="")))
    assert doctor(ann) == doctor(None) == []
    committed(ann, "builder", "one")
    down(ann, "shop")
    assert doctor(ann) == []
    (left,) = doctor(None)
    assert left == ("shop/builder", "by ann: corral down -t shop removes it, unless work is in it")
    ann.run("corral", "down", "--team", "shop", "--discard")
    assert doctor(None) == []


def test_a_shell_of_its_own_name_is_quoted_nowhere(server: None, ann: User, repo: Path) -> None:
    """Names of branches that hold what a shell or git would take for something else."""
    up(ann, repo)
    for name in ("-x", "a;touch /tmp/evil", "$(touch /tmp/evil)", "x'y\"z"):
        agent(
            ann,
            "builder",
            f"git update-ref {shlex.quote(f'refs/heads/{name.replace(chr(32), chr(95))}')} HEAD",
            check=False,
        )
    tip = committed(ann, "builder", "one")
    wait_for(lambda: branch(ann, repo) == tip, what="it was handed in")
    assert not os.path.exists("/tmp/evil")
    assert down(ann, "shop", "--discard")["clean"]


def test_leases_of_the_repository_hold_in_its_copy(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    agent(ann, "api", "corral lease acquire src/")
    done = agent(ann, "builder", f"mkdir src && echo x >src/x && git add src/x && git {WHO} commit -m x", check=False)
    assert (done.returncode, "shop/api" in done.stdout + done.stderr) == (1, True), done
    agent(ann, "builder", f"git {FREE} {WHO} commit -m x")
    done = agent(ann, "builder", "corral merge submit", check=False)
    assert (done.returncode, "shop/api" in done.stdout + done.stderr) == (4, True), done
    # The other way round as well.
    agent(ann, "builder", "corral lease acquire docs/")
    done = agent(ann, "api", f"mkdir docs && echo x >docs/x && git add docs/x && git {WHO} commit -m x", check=False)
    assert (done.returncode, "shop/builder" in done.stdout + done.stderr) == (1, True), done
    down(ann, "shop", "--discard")


def test_down_comes_to_an_end_whatever_an_agent_has_done_to_its_room(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    agent(ann, "builder", f"chmod 0 {os.path.dirname(COPY)}")
    receipt = down(ann, "shop", "--discard")
    assert [kept["path"] for kept in receipt["kept"]] == [os.path.dirname(COPY)]
    assert "nobody could look what is in it" in receipt["kept"][0]["why"]


def test_a_checkout_that_is_closed_to_it_is_not_called_missing(server: None, ann: User, repo: Path) -> None:
    directory = spec(ann, "shop", TEAM.format(repo=repo, more="") + 'workspace = "shared"\n')
    done = ann.run("corral", "up", "--json", cwd=directory, check=False)
    assert done.returncode != 0
    assert f"{BUILDER.name} does not get to the shared workspace {repo}: Permission denied" in done.stdout + done.stderr
    down(ann, "shop")


def test_a_repository_that_was_moved_away_loses_nothing(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    ann.run("mv", str(repo), f"{repo}-away")
    tip = committed(ann, "builder", "one")
    # Of the repository, what cannot be looked at is told as that.
    receipt = json.loads(ann.run("corral", "down", "--team", "shop", "--json", check=False).stdout)
    kept = {one["path"]: one["why"] for one in receipt["kept"]}
    assert kept[WORKTREE] == "1 commit that is nowhere else"
    ann.run("mv", f"{repo}-away", str(repo))
    up(ann, repo)
    wait_for(lambda: branch(ann, repo) == tip, what="it comes in now")
    assert down(ann, "shop", "--discard")["clean"]


def test_a_full_disk_of_the_repositorys_keeps_it_out_until_there_is_room(server: None, ann: User, repo: Path) -> None:
    up(ann, repo)
    packs, mark = f"{repo}/.git/objects/pack", events(ann)[-1]["seq"]
    system("mount", "-t", "tmpfs", "-o", f"size=1m,uid={ann.uid},mode=0755", "none", packs)
    try:
        many = "for n in $(seq 150); do head -c 30000 /dev/urandom >f$n; done"
        agent(ann, "builder", f"{many}; git add . && git {WHO} commit --quiet -m many")
        tip = agent(ann, "builder", "git rev-parse HEAD").stdout.strip()

        def told() -> list[str]:
            return [one["data"]["reason"] for one in events(ann, mark) if one["event"] == "agent.degraded"]

        wait_for(told, what="it is told of")
        assert "No space left on device" in told()[0]
        assert branch(ann, repo) != tip
    finally:
        system("umount", packs)
    assert agent(ann, "builder", "corral merge submit --wait 60s").returncode == 0
    assert branch(ann, repo) == tip
    assert git(ann, repo, "fsck", "--strict", "--no-dangling") == ""
    assert down(ann, "shop", "--discard")["clean"]
