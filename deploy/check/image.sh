#!/bin/bash
# Runs the image's files in the folder $1 as a container engine would: in their own mount, network and process namespaces, with only /data writable, as user
# 65532 without capabilities, and with the server as process 1. Prints `ok <what>` or `FAULT <what>` per check, then `end`.
set -u
image=$1
export HOME=/data

mount --bind "$image" "$image"
mount -t tmpfs -o mode=755,uid=65532,gid=65532 tmpfs "$image/data"
mount -t proc proc /proc
mount -t proc proc "$image/proc"
mount -t tmpfs -o mode=755 tmpfs "$image/dev"
for device in null zero random urandom; do
  touch "$image/dev/$device"
  mount --bind "/dev/$device" "$image/dev/$device"
done
ln -s /proc/self/fd "$image/dev/fd"
mount -o remount,bind,ro "$image"
ip link set lo up

# Runs the program in the image, as its user and with the Dockerfile's environment.
user=(setpriv --no-new-privs --clear-groups --inh-caps=-all)
root=(--root="$image" --wd=/data --setgid=65532 --setuid=65532)
environment=(env -i HOME=/data STOREFRONT_DATABASE=sqlite:/data/storefront.db STOREFRONT_HOST=0.0.0.0)
storefront() { "${environment[@]}" "${user[@]}" unshare "${root[@]}" /usr/bin/storefront "$@"; }

# Runs the command after $1 and prints whether it succeeded.
check() {
  local what=$1
  shift
  if "$@" >&2; then echo "ok $what"; else echo "FAULT $what"; fi
}

fails() { ! "$@"; }

request() { curl --silent --show-error --fail --max-time 5 --header "X-API-AUTH: $key" "$@"; }

# Starts the server as process 1 in a process namespace, with the settings in $@. Its process ID out here goes to $server.
start() {
  "${environment[@]}" "$@" "${user[@]}" unshare --pid --fork --kill-child "${root[@]}" /usr/bin/storefront serve >&2 &
  parent=$!
  for _ in $(seq 100); do
    server=$(pgrep --parent "$parent")
    storefront health >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

stop() {
  kill -TERM "$server" && wait "$parent"
}

check "--version works" storefront --version
check "health fails without a server" fails storefront health
key=$(storefront site add shop --default --with-key --json | grep -o 'sfk_[A-Za-z0-9_]*' | tail -n 1)
check "site add creates a site and a key" test -n "$key"
check "the server becomes ready, as process 1" start
check "health succeeds" storefront health
check "a client creates a record" request --data '{"Name": "Acme"}' http://127.0.0.1:8080/restapi/brands.json
check "the documentation is included" request --output /dev/null http://127.0.0.1:8080/docs/guide
check "the process is user 65532" grep -q '^Uid:.65532.65532.65532.65532$' "/proc/$server/status"
check "it has no capabilities" grep -q '^CapEff:.0*$' "/proc/$server/status"
check "it can't gain privileges" grep -q '^NoNewPrivs:.1$' "/proc/$server/status"
check "it can't write outside /data" fails storefront backup /usr/bin/x.backup
check "backup writes into the volume" storefront backup first.backup
check "SIGTERM ends it with status 0" stop
check "check finds nothing wrong" storefront check
check "restore reads the backup" storefront restore first.backup
check "a server with two workers becomes ready" start STOREFRONT_WORKERS=2
check "the record is still there" request http://127.0.0.1:8080/restapi/brands/1.json
check "SIGTERM ends two workers with status 0" stop
check "nothing outside /data was written" test -z "$(find "$image" -xdev -newer "$image/etc/group" -type f)"
echo end
