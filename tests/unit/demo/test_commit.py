"""The environment of a demo agent's git."""

from corral.demo.commit import git_environment


def test_an_author_of_its_own_when_none_is_configured() -> None:
    env = git_environment({"CORRAL_AGENT": "api", "PATH": "/bin"}, configured=False)
    assert env["GIT_AUTHOR_NAME"] == env["GIT_COMMITTER_NAME"] == "api (demo agent)"
    assert env["GIT_AUTHOR_EMAIL"] == "api@demo.invalid"
    assert env["PATH"] == "/bin"


def test_a_configured_or_given_author_stays() -> None:
    assert "GIT_AUTHOR_NAME" not in git_environment({}, configured=True)
    assert git_environment({"GIT_AUTHOR_NAME": "me"}, configured=False)["GIT_AUTHOR_NAME"] == "me"


def test_variables_that_lead_to_another_repository_are_dropped() -> None:
    env = git_environment({"GIT_DIR": "/x", "GIT_WORK_TREE": "/y", "GIT_INDEX_FILE": "/z"}, configured=True)
    assert not {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} & set(env)
