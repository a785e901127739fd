#!/bin/sh
# Runs once, inside the new tree, with the network of the host: makes it a machine that the lab can boot.
#
# /run is a passing file system here: what lies in /run/build (the lock file, certificates) never gets into the tree.
# Corral itself is not here: a machine gets the source when it boots, so a change of the source needs no new tree.
set -eu

# The users: ann and ben have user managers from boot on, cleo only while she is logged in. dev has one, too, and may
# become root, as people on machines of their own can: the ordinary tests run in that account, and mount disks.
for user in ann ben cleo dev; do
  useradd --create-home --shell /bin/bash "$user"
  printf '[user]\n\tname = %s\n\temail = %s@example.invalid\n[init]\n\tdefaultBranch = main\n' "$user" "$user" \
    >"/home/$user/.gitconfig"
  chown "$user:$user" "/home/$user/.gitconfig"
done
mkdir -p /var/lib/systemd/linger
touch /var/lib/systemd/linger/ann /var/lib/systemd/linger/ben /var/lib/systemd/linger/dev
echo 'dev ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/dev

# By default the manager of somebody without linger stays ten seconds after the last log-out. Tests wait for its end.
mkdir -p /etc/systemd/logind.conf.d
printf '[Login]\nUserStopDelaySec=1s\n' >/etc/systemd/logind.conf.d/lab.conf

# Nobody types at the console, nothing is to be fetched, and a booted machine has nothing left to do.
systemctl mask --quiet console-getty.service getty@.service container-getty@.service systemd-firstboot.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
# A machine that is there for minutes should not be slow to go because of one stubborn process.
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\nDefaultTimeoutStopSec=10s\n' >/etc/systemd/system.conf.d/lab.conf

python3 -m venv /opt/corral-venv
/opt/corral-venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check --no-cache-dir \
  --require-hashes -r /run/build/requirements-dev.lock
site=$(/opt/corral-venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo /corral/src >"$site/corral.pth"
cat >/opt/corral-venv/bin/corral <<'PYTHON'
#!/opt/corral-venv/bin/python
import sys

from corral.cli.main import main

sys.exit(main())
PYTHON
chmod 755 /opt/corral-venv/bin/corral
ln -s /opt/corral-venv/bin/corral /usr/local/bin/corral
mkdir /corral

# What came from the host does not belong to the machine: its name, its name servers, its identity.
echo lab >/etc/hostname
printf '127.0.0.1 localhost lab\n::1 localhost\n' >/etc/hosts
rm -f /etc/resolv.conf /var/lib/dbus/machine-id
: >/etc/machine-id
apt-get clean
rm -rf /var/lib/apt/lists/*
