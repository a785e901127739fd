"""For every request, how what it is about is found. A request that is not in this table is denied to everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corral.api import finders, kept_finders, requests
from corral.api.about import Finder
from corral.api.kept_finders import KeptFinders
from corral.api.member_finders import MemberFinders
from corral.api.token_finders import TokenFinders
from corral.service.process_orders import MOST_INPUT

#: Bodies that are read while the request is answered: they are not waited for.
STREAMED_BODIES = frozenset(("join_session",))
#: Those whose bodies name what they are about.
BODIES = frozenset(
    "down fork member_add note_fixes pause remove restart resume send_message steer_session stop token_add up".split()
)
#: Those that wait for their turn, and ask once more when they have it.
LOCKED = frozenset("down execute fork member_add member_rm pause remove restart resume stop up".split())
#: Lists and streams of rows: each row that may not be seen is left out.
LISTS = frozenset(
    "events list_agents list_entries list_leases list_locks list_ports list_processes list_sessions list_teams stats "
    "watch_entries who_touched".split()
)
#: Those that name a process, which only keepers may know the agent of.
PROCESSES = frozenset(
    "kill_process read_output remove_process resize_process show_process signal_process wait_for_process "
    "write_to_process".split()
)
#: Those whose answers have something in them that not everybody is told who gets an answer.
SIGHTED = LISTS | PROCESSES | {"health", "policy_check", "release_lease", "renew_lease"}
#: Those that are only read, and may be waited for.
WAITING = frozenset(("list_changes", "read_topic"))
#: Bodies that may have more bytes than others.
MOST_BYTES = {"execute": requests.MAX_EXEC_BODY, "write_to_process": MOST_INPUT}

_KINDS: tuple[tuple[Finder, str], ...] = (
    (finders.host, "health member_ls openapi stop_daemon"),
    (finders.checked, "policy_check"),
    (finders.fixes, "note_fixes"),
    (finders.own, "list_teams read_audit register_hooks"),
    (finders.one_agent, "execute get_port list_recordings read_recording screen send"),
    (finders.attaching, "attach"),
    (finders.joining, "join_session"),
    (finders.steering, "steer_session"),
    (finders.forking, "fork"),
    (finders.chosen, "pause remove restart resume stop"),
    (finders.everybody, "broadcast"),
    (finders.read_of_some, "logs"),
    (finders.looked_at, "stats"),
    (finders.listed, "list_agents list_entries list_ports list_processes list_sessions watch_entries"),
    (finders.of_the_journal, "events"),
    (finders.down, "down"),
    (finders.up, "up"),
    (
        finders.team,
        "add_task change_values fail_task finish_task follow_topic get_value list_changes list_values publish "
        "read_topic release_task remove_task renew_task show_task watch_values",
    ),
    (
        finders.asking,
        "acquire_lease check_leases check_many_leases claim_task list_leases list_locks list_tasks release_lease "
        "renew_lease submit_merge take_lock wait_for_leases who_touched",
    ),
    (finders.writing, "check_writes"),
    (finders.hearing, "hear_hook"),
    (kept_finders.process, " ".join(PROCESSES)),
)
#: Those that mean the same as long as the query is the same and no team, agent or member is another.
LASTING = frozenset(verb for _, verbs in _KINDS for verb in verbs.split()) - BODIES - PROCESSES


@dataclass(frozen=True, slots=True)
class Table:
    """How it is found, by verb."""

    finders: Mapping[str, Finder]

    @classmethod
    def of(cls, kept: KeptFinders, members: MemberFinders, tokens: TokenFinders) -> Table:
        """All of them."""
        kinds = (
            *_KINDS,
            (kept.entry, "answer_entry claim_entry show_entry snooze_entry"),
            (kept.sent, "show_sent"),
            (kept.offer, "note_told"),
            (kept.merge, "cancel_merge list_merges retry_merge show_merge"),
            (kept.mailbox, "ack_message list_sent read_message show_message"),
            (kept.received, "list_inbox"),
            (kept.writing, "send_message"),
            (members.shown, "member_show"),
            (members.added, "member_add"),
            (members.removed, "member_rm"),
            (tokens.listed, "token_ls"),
            (tokens.added, "token_add"),
            (tokens.removed, "token_rm"),
        )
        return cls({verb: finder for finder, verbs in kinds for verb in verbs.split()})
