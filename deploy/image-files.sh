#!/bin/sh
# Lays out the image's files in a new folder: the program, the libraries it loads, CA certificates, and a user.
# Usage: image-files.sh <program> <folder>
set -eu
program=$1
image=$2

mkdir -p "$image/usr/bin" "$image/etc/ssl/certs" "$image/tmp"
chmod 1777 "$image/tmp"
install -m 755 "$program" "$image/usr/bin/storefront"
# Each line from ldd has a library's path, except the kernel's own. Libraries keep their paths, with links resolved.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
  install -D -m 755 "$library" "$image$library"
done
install -m 644 /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/ca-certificates.crt"
echo 'storefront:x:65532:65532:storefront:/data:/sbin/nologin' >"$image/etc/passwd"
echo 'storefront:x:65532:' >"$image/etc/group"
echo 'hosts: files dns' >"$image/etc/nsswitch.conf"
