"""Records for tests of rules: a team and an agent that runs, to be varied with `dataclasses.replace`."""

from corral.domain import states
from corral.domain.records import Agent, Team, Who

PERSON = Who(user="ann", uid=1000)
TEAM = Team(name="shop", file="/x/corral.toml", directory="/x", repo=None, created_at=0.0)
AGENT = Agent(
    team="shop",
    name="a",
    position=0,
    command=("cat",),
    shell=False,
    workspace_kind="shared",
    workspace="/x",
    restart="never",
    prompt="",
    state=states.RUNNING,
    run="r1",
    pid=7,
    ready=True,
)
