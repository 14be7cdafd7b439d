#!/bin/bash
# Boots systemd in its own process, mount, network and cgroup namespaces, on a root file system in memory with this machine's /usr, the units in $2 and the
# program $3, and checks the service there. Prints `ok <what>` or `FAULT <what>` per check, then `end`.
# Usage, as root: systemd.sh outer <folder with the units> <program> <empty folder>
set -u
step=$1 units=$2 program=$3 folder=$4

# Joins its own control group, which becomes the root of those in the namespace.
outer() {
  local group
  group=$(mount -t cgroup2 | awk '{ print $3; exit }')
  if mount -t cgroup | grep -q name=systemd; then group=$(mount -t cgroup | awk '/name=systemd/ { print $3; exit }'); fi
  group=$group/storefront-check-$$
  mkdir "$group" && echo $$ >"$group/cgroup.procs" || return 1
  unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup bash "$0" boot "$units" "$program" "$folder" &
  local namespace=$!
  inspect $namespace
  kill -KILL $namespace
  wait $namespace 2>/dev/null
  echo $$ >"$group/../cgroup.procs"
  for _ in $(seq 300); do
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
    sleep 0.1
  done
}

# Becomes systemd inside the namespaces.
boot() {
  local root=$folder/root
  mkdir "$root" && mount -t tmpfs tmpfs "$root" || return 1
  mkdir -p "$root"/{usr,etc/systemd/system/storefront{,-backup}.service.d,var/lib,run,proc,sys,dev,tmp,old}
  ln -s ../run "$root/var/run"
  for link in bin sbin lib lib32 lib64; do if [ -L "/$link" ]; then cp -P "/$link" "$root/$link"; fi; done
  mount --rbind /usr "$root/usr"
  # Hide this machine's units.
  for place in lib/systemd/system lib/systemd/system-generators local/bin; do mount -t tmpfs tmpfs "$root/usr/$place"; done
  install -m 755 "$program" "$root/usr/local/bin/storefront"
  printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nstorefront:x:970:970::/var/lib/storefront:/bin/false\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\nstorefront:x:970:\n' >"$root/etc/group"
  echo 11111111111111111111111111111111 >"$root/etc/machine-id"
  cp "$units"/storefront*.service "$units"/storefront*.timer "$root/etc/systemd/system/"
  # There's no journal, so output goes to a file.
  for name in storefront storefront-backup; do
    printf '[Service]\nStandardOutput=append:/var/output\nStandardError=append:/var/output\n' >"$root/etc/systemd/system/$name.service.d/output.conf"
  done
  printf '[Unit]\nDefaultDependencies=no\nWants=storefront.service storefront-backup.timer\n' >"$root/etc/systemd/system/default.target"
  for target in sysinit basic shutdown network-online multi-user timers; do printf '[Unit]\nDefaultDependencies=no\n' >"$root/etc/systemd/system/$target.target"; done
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --make-rslave "$root/sys"
  umount -l "$root/sys/fs/cgroup"
  if grep -q name=systemd /proc/self/cgroup; then
    mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
  else
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  fi
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  mkdir "$root"/dev/{shm,pts}
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  for device in null zero full random urandom tty; do touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"; done
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  ip link set lo up
  hostname storefront-check
  # A chroot won't do as systemd's root, because user namespaces can't be created in one.
  cd "$root" && pivot_root . old && umount -l old && exec env -i container=check PATH=/usr/bin:/usr/sbin /lib/systemd/systemd --system --show-status=no
}

check() {
  local what=$1
  shift
  if "$@" >&2; then echo "ok $what"; else echo "FAULT $what"; fi
}

# Runs a command in the namespaces of process $pid.
inside() { nsenter --target "$pid" --mount --pid --net --ipc --uts --root --wd "$@"; }
systemctl_inside() { inside systemctl "$@"; }
value() { inside systemctl show --property "$1" --value storefront; }
ready() {
  for _ in $(seq 150); do
    inside curl --silent --fail --max-time 3 --output /dev/null http://127.0.0.1:8080/readyz && return 0
    sleep 0.1
  done
  inside cat /var/output
  return 1
}
status_has() { inside grep -q "$1" "/proc/$(value MainPID)/status"; }

# Waits for $1 in the service's output.
prints() {
  for _ in $(seq 600); do
    inside grep -q "$1" /var/output && return 0
    sleep 0.1
  done
  inside cat /var/output
  return 1
}

# Checks the service from outside. $1 is the process that created the namespaces; its child becomes systemd.
inspect() {
  for _ in $(seq 50); do
    pid=$(pgrep --parent "$1" systemd) && break
    sleep 0.1
  done
  [ -n "$pid" ] || { echo "FAULT systemd boots"; return; }
  check "the server becomes ready under systemd" ready
  check "it doesn't run as root" inside test "$(value User)" = storefront
  check "it has no capabilities" status_has '^CapBnd:.0*$'
  check "system calls are filtered" status_has '^Seccomp:.2$'
  check "it can't gain privileges" status_has '^NoNewPrivs:.1$'
  check "the database is in the state folder, private to its user" inside find /var/lib/storefront/data/storefront.db -user storefront -not -perm /077
  check "commands work as its user" inside setpriv --reuid=970 --regid=970 --clear-groups \
    env STOREFRONT_DATABASE=sqlite:/var/lib/storefront/data/storefront.db storefront site add shop --default
  check "the backup timer is active" systemctl_inside is-active --quiet storefront-backup.timer
  check "a backup is made and checked while the server is running" systemctl_inside start storefront-backup
  check "nothing is wrong with the backup" prints 'no faults found in /var/lib/storefront/backups/storefront-.*\.backup'
  check "the backup is private to its user" inside find /var/lib/storefront/backups -name 'storefront-*Z.backup' -user storefront -not -perm /077
  local before
  before=$(value MainPID)
  check "reload succeeds" systemctl_inside reload storefront
  check "reload replaces the workers and the admin listener" prints 'replaced 3 processes'
  check "reload keeps the main process" test "$before" = "$(value MainPID)"
  check "the server is ready after a reload" ready
  inside kill -KILL "$before"
  check "it's restarted after being killed" ready
  check "stop succeeds" systemctl_inside stop storefront
  check "it exited with status 0" test "$(value ExecMainStatus)/$(value Result)" = 0/success
  echo end
}

"$step"
