#!/bin/sh
# Runs once, in a copy of the tree: adds a kernel and the service that runs the tests, for a machine under qemu.
set -eu

# A small initial RAM disk: under emulation every module in it costs boot time.
mkdir -p /etc/initramfs-tools/conf.d
echo 'MODULES=list' >/etc/initramfs-tools/conf.d/lab
apt-get update -qq
apt-get install -y -qq --no-install-recommends linux-image-cloud-amd64 initramfs-tools udev zstd
printf '%s\n' virtio_pci virtio_blk virtio_console virtio_rng ext4 >>/etc/initramfs-tools/modules
update-initramfs -u -k all
mv /boot/vmlinuz-* /run/build/vmlinuz
mv /boot/initrd.img-* /run/build/initrd.img

echo '/dev/vda / ext4 rw,noatime 0 1' >/etc/fstab
systemctl mask --quiet serial-getty@.service systemd-udev-settle.service systemd-hwdb-update.service

# The second disk is a tar archive: the repository, and in it the command that is to be run.
cat >/usr/local/sbin/lab-run <<'RUN'
#!/bin/sh
udevadm wait --timeout=120 /dev/virtio-ports/lab.output /dev/virtio-ports/lab.code /dev/vdb
exec >/dev/virtio-ports/lab.output 2>&1
tar --extract --file /dev/vdb --directory /corral --no-same-owner
for user in $(ls /var/lib/systemd/linger); do systemctl start "user@$(id --user "$user").service"; done
/opt/corral-venv/bin/python -m compileall -q /corral/src /corral/tests/lab /corral/tests/support
cd /corral
sh ./lab-command
code=$?
sync
echo "$code" >/dev/virtio-ports/lab.code
systemctl poweroff
RUN
chmod 755 /usr/local/sbin/lab-run
cat >/etc/systemd/system/lab-run.service <<'UNIT'
[Unit]
Description=Run what came on the second disk
After=systemd-logind.service systemd-user-sessions.service

[Service]
Type=exec
ExecStart=/usr/local/sbin/lab-run
Environment=HOME=/root TERM=dumb LANG=C.UTF-8
TasksMax=infinity

[Install]
WantedBy=multi-user.target
UNIT
systemctl enable --quiet lab-run.service

rm -f /etc/resolv.conf
: >/etc/machine-id
apt-get clean
rm -rf /var/lib/apt/lists/*
