"""What the kernel is told of an agent."""

from corral.domain.access import Access
from corral.domain.confinement import Confines, Ground, is_confined, rules, state_of

GROUND = Ground(
    workspace="/w",
    environment={"HOME": "/home/u"},
    own="/run/own/1",
    ports="20000-20009",
    git="/repo/.git/worktrees/a",
    common="/repo/.git",
    programs=("/opt/corral",),
)


def told(access: Access, bind: str = "any", ground: Ground = GROUND, state: tuple[str, ...] = ()) -> dict[str, object]:
    return rules(Confines(access=access, state=state), bind, ground)


def besides(found: dict[str, object], right: str) -> set[str]:
    pairs = found["besides"]
    assert isinstance(pairs, list)
    return {path for path, word in pairs if word == right}


def test_who_declares_nothing_is_not_confined() -> None:
    assert not is_confined(Access(), "any")
    assert not is_confined(Access(write=("src/**",), enforce="commit"), "any")
    for access, bind in (
        (Access(write=()), "any"),
        (Access(read=()), "any"),
        (Access(network="none"), "any"),
        (Access(), "own"),
    ):
        assert is_confined(access, bind)


def test_writing_is_kept_to_what_is_declared_and_what_a_commit_needs() -> None:
    found = told(Access(write=("src/**", "docs/*.md", "~/data", "/srv/x")))
    assert (found["write"], found["read"], found["ports"], found["network"]) == (True, False, None, True)
    assert found["below"] == [("src", "rw"), ("docs", "rw")]
    assert found["declared"] == [("/home/u/data", "rw"), ("/srv/x", "rw")]
    allowed = besides(found, "rw")
    assert {"/run/own/1/", "/home/u/.cache", "/dev/null", "/repo/.git/worktrees/a", "/repo/.git/objects"} <= allowed
    # Neither configuration nor hooks of the repository, and nothing of anybody's home.
    assert not allowed & {"/repo/.git", "/repo/.git/hooks", "/home/u", "/tmp", "/", "/w"}


def test_a_checkout_that_is_the_repository_itself_has_all_of_its_git_directory() -> None:
    ground = Ground(workspace="/w", environment={}, own="/o", git="/w/.git", common="/w/.git")
    assert "/w/.git" in besides(told(Access(write=()), ground=ground), "rw")


def test_reading_is_kept_to_what_is_declared_and_what_a_program_needs() -> None:
    found = told(Access(read=("src/**", "Makefile", "/srv")))
    assert (found["write"], found["read"]) == (False, True)
    assert found["below"] == [("src", "r"), ("Makefile", "r"), ("", "names"), (".git", "r")]
    assert found["declared"] == [("/srv", "r")]
    assert {"/usr", "/etc", "/opt/corral", "/repo/.git", "/home/u/.gitconfig"} <= besides(found, "r")
    assert not besides(found, "r") & {"/home/u", "/home", "/tmp", "/var", "/run"}


def test_without_the_kernel_for_writing_only_the_rest_is_told() -> None:
    found = told(Access(write=("src/**",), enforce="commit"), "own")
    assert (found["write"], found["below"], found["ports"]) == (False, [], [(20000, 20009)])


def test_ports() -> None:
    assert told(Access(), "none")["ports"] == []
    assert told(Access(), "80,443")["ports"] == [(80, 80), (443, 443)]


def test_where_programs_keep_what_they_know() -> None:
    state = ("$X_HOME/", "~/.x/", "/var/x", "$UNSET/y")
    assert state_of(state, {"HOME": "/h", "X_HOME": "/data/x"}) == ["/data/x/", "/h/.x/", "/var/x"]
    # A variable that says something relative, or nothing, allows nothing.
    assert state_of(("$X/", "~/.x/"), {"X": "relative"}) == []
    cache = Ground(workspace="/w", environment={"HOME": "/h", "XDG_CACHE_HOME": "/c"}, own="/o")
    assert {"/c", "/h/.x/"} <= besides(told(Access(write=()), ground=cache, state=("~/.x/",)), "rw")
