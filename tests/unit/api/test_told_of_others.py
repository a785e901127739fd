"""On a shared server, answers about something else tell no more of others than a list of them would."""

from pathlib import Path

import pytest

from corral.domain.policy import Question
from corral.domain.port_blocks import Pool
from corral.ports.resources import Listening
from tests.support.records import PERSON
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.scene import Scene


def own(question: Question) -> bool:
    return question.on.owner == question.who.user


def own_or_seen(question: Question) -> bool:
    return own(question) or question.verb in ("list_agents", "list_ports")


class TestPorts:
    def test_command_lines_of_who_may_be_seen_and_not_read_are_left_out(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.listeners["shop"] = [Listening(port=3001, agent="a", pid=5, command="node --token=mine")]
            scene.keeper.listeners["toys"] = [Listening(port=3000, agent="z", pid=6, command="node --token=theirs")]
            reply = await scene.ask("GET", "/v1/ports")
            told = {row["port"]: (row["pid"], row["command"], row["hidden"]) for row in reply.json}
            assert told == {3001: (5, "node --token=mine", False), 3000: (6, "", True)}

        decided(tmp_path, Scripted(own_or_seen), act)

    def test_so_are_those_of_strangers_on_their_ports(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            ports, pool = scene.services.ports, Pool((20000, 20099), 10)
            mine = (await ports.allocate(PERSON, "shop", pool, {"a": []}, user=""))["a"].first
            theirs = (await ports.allocate(PERSON, "toys", pool, {"z": []}, user=""))["z"].first
            for team, port in (("shop", mine), ("toys", theirs)):
                scene.keeper.listeners[team] = [Listening(port=port, agent="", pid=7, command="nginx")]
            strangers = [row for row in (await scene.ask("GET", "/v1/ports")).json if row["agent"] is None]
            told = {row["port"]: (row["command"], row["hidden"]) for row in strangers}
            assert told == {mine: ("nginx", False), theirs: ("", True)}

        decided(tmp_path, Scripted(own_or_seen), act)


def test_who_sees_a_team_and_none_of_its_agents_reads_none_of_their_output(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("GET", "/v1/logs?team=toys")
        assert reply.status == 404, reply.body
        assert not [asked for asked, _ in scene.keeper.asked if asked == "logs"]

    decided(tmp_path, Scripted(lambda question: question.on.team != "toys" or not question.on.agent), act)


@pytest.mark.parametrize("of", ["team={}", "team={}&agent=z"])
def test_the_journal_says_the_same_of_what_is_hidden_and_of_what_never_was(tmp_path: Path, of: str) -> None:
    async def act(scene: Scene) -> None:
        hidden, missing = [await scene.ask("GET", f"/v1/events?{of.format(team)}") for team in ("toys", "tows")]
        assert hidden.status == missing.status == 404
        assert hidden.body.replace(b"toys", b"tows") == missing.body

    decided(tmp_path, Scripted(own), act)


def test_the_daemon_counts_what_may_be_seen(tmp_path: Path) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        before = (await scene.ask("GET", "/v1/health")).json
        assert (before["teams"], before["agents"]) == (2, 3)
        policy.allows = lambda question: question.verb == "health" or own(question)
        after = (await scene.ask("GET", "/v1/health")).json
        assert (after["teams"], after["agents"]) == (1, 2)

    decided(tmp_path, policy, act)


def test_the_daemon_names_the_users_of_what_may_be_seen(tmp_path: Path) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        assert set((await scene.ask("GET", "/v1/health")).json["keepers"]) == {ME, "ann"}
        policy.allows = lambda question: question.verb == "health" or own(question)
        assert set((await scene.ask("GET", "/v1/health")).json["keepers"]) == {ME}

    decided(tmp_path, policy, act, several=True)


def test_who_may_not_list_members_is_told_of_those_whose_teams_they_see(tmp_path: Path) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        scene.services.msg._people |= {"ann", "zoe"}
        reply = await scene.ask("POST", "/v1/messages", {"text": "t", "to": ["@nobody"]})
        assert "@ann, " in reply.error["remedy"]
        assert "@zoe" in reply.error["remedy"]
        policy.allows = lambda question: question.verb != "member_ls" and own(question)
        for ask in (
            ("POST", "/v1/messages", {"text": "t", "to": ["@nobody"]}),
            ("GET", "/v1/messages/inbox?from=@nobody", None),
        ):
            reply = await scene.ask(*ask)
            assert reply.status == 404, reply.body
            assert f"@{ME}" in reply.error["remedy"]
            assert "ann" not in reply.error["remedy"]
            assert "zoe" not in reply.error["remedy"]

    decided(tmp_path, policy, act, several=True)


def test_whose_a_name_is_is_not_told_to_who_may_not_see_the_team(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        text = '[team]\nname = "toys"\n\n[agents.a]\ncommand = ["cat"]\n'
        body = {"file": "/n/corral.toml", "text": text, "dry_run": True}
        reply = await scene.ask("POST", "/v1/up", body)
        assert (reply.status, reply.error["code"]) == (403, "denied")
        assert "toys" in str(reply.body)
        assert "ann" not in str(reply.body)

    policy = Scripted(own)
    decided(tmp_path, policy, act, several=True)
    assert all(on.owner in ("", ME) for on in policy.about("up"))


@pytest.mark.parametrize("who", ["", ME])
def test_what_one_may_do_oneself_can_always_be_asked(tmp_path: Path, who: str) -> None:
    async def act(scene: Scene) -> None:
        # There are no members in this scene, and so the handler has nothing to say; the policy let the question pass.
        assert (await scene.ask("GET", f"/v1/policy/check?verb=send&on=toys/z&who={who}")).error["code"] == "refused"
        reply = await scene.ask("GET", "/v1/policy/check?verb=send&on=toys/z&who=ann")
        assert (reply.status, reply.error["code"]) == (403, "denied")

    decided(tmp_path, Scripted(own), act)


class TestTasks:
    """A token says which claim is meant. Everybody in the team can read it, so it does not say whose."""

    @pytest.mark.parametrize("verb", ["renew", "done", "fail", "release"])
    def test_what_an_agent_has_claimed_is_no_other_agents(self, tmp_path: Path, verb: str) -> None:
        async def act(scene: Scene) -> None:
            task, token = await claimed(scene)
            reply = await scene.ask("POST", f"/v1/tasks/{task}/{verb}?team=shop", {"token": token}, agent="shop/b")
            assert (reply.status, reply.error["holder"]) == (409, "shop/a"), reply.body
            shown = (await scene.ask("GET", f"/v1/tasks/{task}?team=shop")).json
            assert (shown["state"], shown["token"]) == ("claimed", token)
            reply = await scene.ask("POST", f"/v1/tasks/{task}/{verb}?team=shop", {"token": token}, agent="shop/a")
            assert reply.status == 200, reply.body

        decided(tmp_path, Scripted(lambda _: True), act)

    def test_nor_can_another_agent_remove_it(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            task, _ = await claimed(scene)
            target = f"/v1/tasks/{task}?team=shop&force=1"
            assert (await scene.ask("DELETE", target, agent="shop/b")).status == 409
            assert (await scene.ask("DELETE", target)).status == 200, "people look after agents"

        decided(tmp_path, Scripted(lambda _: True), act)


async def claimed(scene: Scene) -> tuple[str, int]:
    """A task of `shop` that its agent `a` has: its id and the token."""
    assert (await scene.ask("POST", "/v1/tasks?team=shop", {"title": "t"})).status == 200
    reply = await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {}, agent="shop/a")
    assert reply.status == 200, reply.body
    return reply.json["task"], reply.json["token"]


def test_these_people_are_as_the_tests_take_them_to_be() -> None:
    assert People().owners == {"shop": ME, "toys": "ann"}
