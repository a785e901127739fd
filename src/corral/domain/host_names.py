"""The names of a shared server: users, groups, paths and units (ADR 19). Read on every command: no imports."""

#: The system user that the daemon is, and its group; nobody else is in it.
USER = "corral"
#: Who may speak to the daemon, and which OS users belong to agents and not to people.
MEMBERS = "corral-members"
AGENTS = "corral-agents"
GROUPS = (USER, MEMBERS, AGENTS)
#: Groups of the system whose people are root, or can have themselves made so.
MIGHTY_GROUPS = frozenset("root sudo wheel admin shadow disk kmem docker lxd incus-admin libvirt".split())
SHELL = "/usr/sbin/nologin"
#: Below are people and agents no more, but accounts of the system.
LOWEST_UID = 1000

HOME = "/var/lib/corral"
RUNTIME = "/run/corral"
SOCKET = f"{RUNTIME}/daemon.sock"
KEEPERS = f"{RUNTIME}/keepers"
#: What the daemon tells the units of keepers.
KEEPER_SETTINGS = f"{RUNTIME}/keeper.env"
CONFIG = "/etc/corral"
SETTINGS = f"{CONFIG}/host.json"
#: What root notes of this host: here are the users whose linger was turned on for Corral's sake.
NOTES = "/var/lib/corral-host"
LINGER_NOTES = f"{NOTES}/linger"
#: … and here the directories that were made for workspaces, also those above them, a line each.
PLACE_NOTES = f"{NOTES}/places"
PROGRAMS = "/usr/local/libexec/corral"
HELPER = f"{PROGRAMS}/helper"
SUDOERS = "/etc/sudoers.d/corral"
TMPFILES = "/etc/tmpfiles.d/corral.conf"
SERVICE = "corral.service"
SERVICE_FILE = f"/etc/systemd/system/{SERVICE}"
KEEPER_SERVICE = "corral-keeper.service"
KEEPER_SERVICE_FILE = f"/etc/systemd/user/{KEEPER_SERVICE}"
#: What has a keeper started and stopped, by the user's number: a process of the user's must not run within the daemon's
#: unit. What begins with `corral` nobody is taken for a person in.
KEEPER_START, KEEPER_STOP = "corral-keeper-start@.service", "corral-keeper-stop@.service"
KEEPER_START_FILE, KEEPER_STOP_FILE = f"/etc/systemd/system/{KEEPER_START}", f"/etc/systemd/system/{KEEPER_STOP}"
#: What gives a user's keeper a place for its socket that has room for little else, by the user's number.
KEEPER_PLACE = "corral-keeper-place@.service"
KEEPER_PLACE_FILE = f"/etc/systemd/system/{KEEPER_PLACE}"
#: Below the home of each user, beside an instance of the user's own.
KEEPER_HOME = ".local/state/corral-host"
#: Below the directory that systemd has for a user who is logged in, or lingers.
KEEPER_RUNTIME = "corral-host"
WORKSPACES = "/srv/corral"
