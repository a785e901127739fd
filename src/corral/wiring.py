"""Puts the parts together. The only module that picks adapters.

Imports are inside the functions: a keeper must not carry the daemon's web server and database along.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from functools import partial

from corral import hosting
from corral.client.absence import reached_elsewhere
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.host_names import HOME, MEMBERS, RUNTIME
from corral.listening import BACKLOG, listen
from corral.peer import uid_of, user_id
from corral.places import Places
from corral.sharing import Door, shared_door, tell_keepers

log = logging.getLogger("corral")

#: A daemon that was started by a command goes by itself this long after its last team went down.
LINGER_SECONDS = 600.0
#: How long a new keeper waits for one that is just ending.
_TAKE_OVER_SECONDS = 10.0


def run_daemon(ready_fd: int | None, members: str | None = None, *, decides: bool = False) -> int:
    """Run the daemon of the instance that the environment names, until it is told to end.

    One whose socket was removed ends by itself, and that is `UnavailableError`: whoever runs it is to start another.

    With `members`, a group, it is the daemon of a shared server: its members are in that group, and a policy
    decides what each may do. `decides` has one of a single person ask a policy and keep a trail as well, for the bench.
    """
    places = Places.from_environment()
    door = None if members is None else shared_door(members)
    if elsewhere := reached_elsewhere(places):
        raise elsewhere
    if door is None:
        places.create()
    else:
        places.create_shared()
    hosting.begin_process("daemon")
    with hosting.only_one(places.daemon_lock, "daemon"):
        hosting.note_runtime(places.runtime_mark, places.runtime)
        import uvloop

        uvloop.run(_daemon(places, ready_fd, door, decides or door is not None))
    return 0


def run_keeper(
    ready_fd: int | None,
    socket_path: str | None = None,
    daemon_user: str | None = None,
    worktrees: str | None = None,
) -> int:
    """Run the keeper of the instance that the environment names, until nobody needs it.

    On a shared server it listens where the daemon finds it, and the daemon is another user: calls of nobody else are
    taken.
    """
    places = Places.from_environment()
    if worktrees:
        places.worktrees = worktrees
    places.create()
    hosting.begin_process("keeper")
    instance = os.environ.get("CORRAL_INSTANCE", "")
    if not instance:
        raise CorralError("CORRAL_INSTANCE is not set", "a keeper is started by the daemon; there is no need to")
    with hosting.only_one(places.keeper_lock, "keeper", wait_seconds=_TAKE_OVER_SECONDS):
        import uvloop

        uvloop.run(_keeper(places, instance, ready_fd, socket_path, daemon_user))
    return 0


async def _daemon(places: Places, ready_fd: int | None, door: Door | None, decides: bool) -> None:
    from corral import __version__, config
    from corral.adapters import webhook
    from corral.adapters.accounts import account
    from corral.adapters.cgroup import pressure
    from corral.adapters.cgroup.peers import KernelPeers
    from corral.adapters.procfs import processes
    from corral.adapters.sqlite.store import SqliteStore
    from corral.adapters.unix_keeper.helper import Helper
    from corral.adapters.unix_keeper.host import HostKeepers
    from corral.adapters.unix_keeper.rooms import HostRooms
    from corral.adapters.unix_keeper.spawn import LocalKeeper
    from corral.api.app import make_app
    from corral.api.server import DaemonServer
    from corral.api.services import Services
    from corral.domain.moments import Moment
    from corral.domain.notices import of_entry
    from corral.domain.records import NewEvent
    from corral.domain.waits import Waits
    from corral.peer import user_name
    from corral.service.agent_hooks import AgentHooks
    from corral.service.agent_room import AgentRoom
    from corral.service.agents import Agents
    from corral.service.belongings import Belongings
    from corral.service.callers import Callers
    from corral.service.context import Context
    from corral.service.down import Down
    from corral.service.fork import Fork
    from corral.service.holding import Holding
    from corral.service.hook_notices import HookNotices
    from corral.service.inbox import InboxService
    from corral.service.inbox_watch import InboxWatch
    from corral.service.journal import Journal
    from corral.service.kv import Kv
    from corral.service.leases import LeaseService
    from corral.service.ledger import Ledger
    from corral.service.lending import Lending
    from corral.service.linger import Linger
    from corral.service.looking_after import LookingAfter
    from corral.service.merge_book import MergeBook
    from corral.service.merge_checks import MergeChecks
    from corral.service.merge_letters import MergeLetters
    from corral.service.merge_work import MergeWork
    from corral.service.merges import Merges
    from corral.service.msg import Msg
    from corral.service.notifying import Notifier
    from corral.service.outfit import fit_out_again
    from corral.service.ownership import among, owns
    from corral.service.port_blocks import PortBlocks
    from corral.service.processes import Processes
    from corral.service.recordings import Recordings
    from corral.service.refusals import Refusals
    from corral.service.send_answers import through as answers_through
    from corral.service.send_prompts import through
    from corral.service.send_work import SendWork
    from corral.service.sends import Sends
    from corral.service.sessions import Sessions
    from corral.service.shares import Shares
    from corral.service.stats import Stats
    from corral.service.tasks import Tasks
    from corral.service.topics import Topics
    from corral.service.up import Up
    from corral.service.who import Who
    from corral.service.witness import WitnessedStore
    from corral.supervise.registry import Registry
    from corral.supervise.supervisor import Supervisor
    from corral.wiring_audit import hear_acts, open_audit
    from corral.wiring_policy import authority_of, open_door, shared_of
    from corral.wiring_tcp import open_network

    boot = processes.boot_id()

    def clock() -> Moment:
        return Moment(wall=time.time(), monotonic=time.monotonic(), boot=boot)

    store = WitnessedStore(await SqliteStore.open(places.database))
    audit = shared = network = refusals = None
    try:
        audit = await open_audit(places, store.instance, shared=decides)
        refusals = None if audit is None else Refusals(audit)
        registry = Registry(store, time.time, places.at_rest_mark)
        await registry.load()
        helper = Helper()
        keepers = (
            LocalKeeper(places, store.instance, daemon_needs_a_place=ready_fd is not None)
            if door is None
            else HostKeepers(store.instance, helper)
        )
        recording = config.recording_terms(places, shared=door is not None)
        supervisor = Supervisor(
            registry,
            keepers.connect,
            time.time,
            clock,
            shared=door is not None,
            recording=recording,
            memory_pressure=pressure.of_memory,
        )
        lending = None if door is None else Lending(registry, supervisor, store.instance)
        context = Context(
            registry=registry,
            supervisor=supervisor,
            store=store,
            places=places,
            now=time.time,
            rooms=None if door is None else HostRooms(helper),
            accounts=None if door is None else account,
            lending=lending,
        )
        server: DaemonServer
        if decides:
            group = MEMBERS if door is None else door.group
            shared = await shared_of(context, group, lambda uid, but: server.hang_up(uid, but))
        network = await open_network(context, shared, audit)
        members = None if shared is None else shared.members
        ledger = Ledger(store, Shares(among(members)))
        kv = Kv(context, ledger)
        waits = Waits()
        leases = LeaseService(context, ledger, waits)
        msg = Msg(context, ledger, waits, user_name(os.getuid()))
        ports = PortBlocks(context, ledger)
        tasks = Tasks(context, ledger, waits)
        sends = Sends(context, ledger)
        send_work = SendWork(context, sends)
        supervisor.prompts.go_through(through(sends))
        supervisor.on_keyboard = send_work.keyboard_changed
        supervisor.before_restart = lambda agent: fit_out_again(context, agent)
        hooks = AgentHooks(context, ledger, leases, HookNotices(msg, sends, send_work))
        hooks.on_words = send_work.heard
        book, checks = MergeBook(context, ledger), MergeChecks(registry, leases)
        merge_work = MergeWork(context, book, checks, MergeLetters(msg))
        room = AgentRoom(registry, among(members))
        fork = Fork(context, ports, room)
        agents = Agents(context, ports)
        inbox = InboxService(context, ledger, answers_through(sends))
        inbox_watch = InboxWatch(context, inbox, book)
        notifier = Notifier(context, webhook.post)
        inbox.on_new(lambda entry: notifier.tell(of_entry(entry)))
        holding = Holding(context)
        looking_after = LookingAfter(context, ledger, clock, holding, sends, notifier.tell)
        store.listen(looking_after.attendance.hear)
        store.listen(registry.hear)
        authority = None if shared is None else authority_of(shared)
        if audit is not None:
            hear_acts(store, audit, authority)
        sessions = Sessions(context, ledger, notifier.tell, partial(owns, registry, members))
        await ledger.load()
        await ports.settle()
        await sessions.begin()
        linger = Linger(registry, LINGER_SECONDS if ready_fd is not None else None)
        services = Services(
            places=places,
            instance=store.instance,
            started_at=time.time(),
            registry=registry,
            supervisor=supervisor,
            up=Up(context, ports, book, fork, room, None if members is None else members.person_of),
            down=Down(context, ports, Belongings(leases, tasks, msg), merge_work),
            agents=agents,
            fork=fork,
            holding=holding,
            attendance=looking_after.attendance,
            stats=Stats(context),
            processes=Processes(context),
            kv=kv,
            leases=leases,
            msg=msg,
            topics=Topics(context, ledger),
            ports=ports,
            tasks=tasks,
            recordings=Recordings(context),
            sends=sends,
            sessions=sessions,
            merges=Merges(context, book, checks, merge_work),
            who=Who(context, leases, tasks),
            hooks=hooks,
            inbox=inbox,
            journal=Journal(context),
            end=lambda: server.end(),
            busy=linger.busy,
            audit=audit,
            refusals=refusals,
            callers=Callers(
                registry,
                KernelPeers(),
                instance=store.instance,
                shared=door is not None,
                # The keeper of a single person is that person's; those of a shared server are each their user's.
                uid_of=(lambda _: os.getuid()) if door is None else (lambda agent: uid_of(agent.user)),
                trust_user_units=door is not None and config.identity_terms(places).trust_user_units,
            ),
            shared=shared,
            authority=authority,
            network=network,
        )
        callers = services.callers
        assert callers is not None
        # Where many may connect, whoever is hung up on is told of.
        server = DaemonServer(make_app(services), None if door is None else callers.hung_up)
        linger.on_idle(server.end)
        hosting.on_signals(asyncio.get_running_loop(), server.end)
        if door is None or shared is None:
            listening = listen(places.daemon_socket)
        else:
            tell_keepers(places, store.instance)
            listening = open_door(door, places.daemon_socket, shared.members)
        identity = hosting.identity(places.daemon_socket)
        watching = asyncio.get_running_loop().create_task(
            hosting.when_gone(places.daemon_socket, identity, server.end), name="watch the socket"
        )

        def end_watch() -> None:
            watching.cancel()  # who ends for another reason does not miss the socket

        server.before_shutdown(end_watch)
        about = {"pid": os.getpid(), "version": __version__}
        await registry.observe((), [NewEvent(event="daemon.started", data=about)])
        await supervisor.begin()
        merge_work.begin()
        send_work.begin()
        inbox_watch.begin()
        looking_after.begin()
        network.begin(server, callers)
        served = " and ".join((places.daemon_socket, *network.addresses))
        log.info("serving %s for instance %s", served, store.instance)
        hosting.say_ready(ready_fd)
        await server.serve(sockets=[listening])
        unreached = watching.done() and not watching.cancelled()
        hosting.unlink_own(places.daemon_socket, identity)
        await looking_after.end()
        tasks.end()
        merge_work.end()
        send_work.end()
        inbox_watch.end()
        notifier.end()
        if lending is not None:
            lending.end()
        await supervisor.end()
        await services.processes.settled()
        await registry.observe((), [NewEvent(event="daemon.stopped", data=about)])
        log.info("ended; %d teams stay up", len(registry.teams))
        if unreached:
            raise UnavailableError(f"{places.daemon_socket} is gone, so nobody could reach this daemon any more")
    finally:
        if network is not None:
            await network.close()
        if refusals is not None:
            await refusals.close()
        if shared is not None:
            await shared.policy.close()
        if audit is not None:
            await audit.close()
        await store.close()


async def _keeper(
    places: Places, instance: str, ready_fd: int | None, socket_path: str | None, daemon_user: str | None
) -> None:
    import getpass
    import platform

    from corral.adapters import desktop
    from corral.adapters.cgroup import askers
    from corral.adapters.files import stamps, transcripts
    from corral.adapters.files.casts import CastBook
    from corral.adapters.files.launch import LaunchFiles
    from corral.adapters.files.logbook import LogBook
    from corral.adapters.files.transcript_files import HostTranscripts
    from corral.adapters.git.history import history, open_changes
    from corral.adapters.git.lending import GitLending
    from corral.adapters.git.links import real_paths, symbolic_links
    from corral.adapters.git.merges import GitMerges
    from corral.adapters.git.workspaces import GitWorkspaces
    from corral.adapters.landlock import confining
    from corral.adapters.procfs import bystanders, host_ports, ports, processes
    from corral.adapters.subprocess.processes import HostedProcesses
    from corral.adapters.subprocess.runtime import ProcessRuntime
    from corral.adapters.tmux.identity import clean_environment
    from corral.adapters.tmux.runtime import TmuxRuntime
    from corral.domain.environment import team_markers
    from corral.keeper.server import KeeperServer, KeeperService
    from corral.keeper.tools import HostTools
    from corral.wiring_containment import choose

    containment = await choose(places, instance)
    log.info("containment: %s%s", containment.level, f" ({containment.why})" if containment.why else "")
    lending = GitLending(places)
    tools = HostTools(
        runtime=lambda team, listener: TmuxRuntime(
            team=team,
            socket_path=places.tmux_socket(team),
            scratch_dir=os.path.join(places.launch_dir, team),
            markers=team_markers(instance, team),
            listener=listener,
            tmux=os.environ.get("CORRAL_TMUX") or "tmux",
        ),
        processes=lambda team, listener: HostedProcesses(
            team=team,
            socket_path=places.host_socket(team),
            directory=places.process_dir(team),
            markers=team_markers(instance, team),
            on_ended=listener.ended,
            on_lost=listener.host_lost,
            on_trouble=listener.recording_failed,
            on_gone=listener.gone,
        ),
        process_runtime=lambda team, processes, launches, listener: ProcessRuntime(
            team=team,
            processes=processes,
            launches=launches,
            environment=clean_environment(team_markers(instance, team)),
            listener=listener,
        ),
        containment=containment,
        history=history,
        open_changes=open_changes,
        obstacles=confining.obstacles(),
        confine=confining.through,
        programs=confining.programs(places.home),
        workspaces=GitWorkspaces(places, instance, None if daemon_user is None else Places(HOME, RUNTIME)),
        merges=GitMerges(places),
        lending=lending,
        bystanders=lambda team, directories, asking: bystanders.living_in(
            directories, team_markers(instance, team), asking
        ),
        host_ports=lambda wanted: host_ports.look(wanted, instance),
        listening=ports.listening,
        real_paths=real_paths,
        symbolic_links=symbolic_links,
        look_at_files=stamps.look,
        behind=lambda pid, seen: askers.behind(pid, seen, instance),
        desktop=desktop.notify,
        conversations=transcripts.look,
        transcripts=HostTranscripts(),
        log=lambda team, agent: LogBook(places.agent_log(team, agent)),
        casts=lambda team, agent: CastBook(places.recordings(team, agent), f"{team}/{agent}"),
        launches=lambda team: LaunchFiles(os.path.join(places.launch_dir, team), places.own_dir),
    )
    service = KeeperService(
        tools=tools,
        instance=instance,
        user=getpass.getuser(),
        host=platform.node(),
        boot_id=processes.boot_id(),
    )
    hosting.on_signals(asyncio.get_running_loop(), service.done.set)
    path = socket_path or places.keeper_socket
    # On a shared server the directory of the socket is what keeps others out, and the daemon is not of our group.
    listening = listen(path, mode=0o600 if daemon_user is None else 0o666)
    log.info("serving %s", path)
    lending.begin()
    identity = hosting.identity(path)
    watching = asyncio.get_running_loop().create_task(
        hosting.when_gone(path, identity, service.done.set), name="watch the socket"
    )
    caller = None if daemon_user is None else user_id(daemon_user)
    await KeeperServer(service, caller).serve(listening, lambda: hosting.say_ready(ready_fd), BACKLOG)
    watching.cancel()
    lending.end()
    hosting.unlink_own(path, identity)
    log.info("ended")
