#!/usr/bin/env bash
# Signs the files of a release: sign_release.sh KEY FOLDER
#   KEY     the release key, Ed25519, PEM, for its owner alone (openssl genpkey -algorithm ed25519 -out KEY)
#   FOLDER  what is published: packages, dpledger-verifier.html, sources
# Writes SHA256SUMS of all files below FOLDER, and its signature SHA256SUMS.sig. docs/dashboard.md says how a reader
# checks them with the public key, which he must have got another way.
set -euo pipefail
fail() { echo "sign_release.sh: $*" >&2; exit 1; }
[ $# = 2 ] || { sed -n 's/^# \{0,1\}//p' "$0" | head -n 5 >&2; exit 2; }
[ -r "$1" ] || fail "$1: cannot be read"
[ -d "$2" ] || fail "$2: is no folder"
key=$(readlink -f "$1")
[[ $(stat -c %a "$key") =~ ^[0-7]00$ ]] || fail "$1: group or others may use it (chmod 600)"
openssl pkey -in "$key" -noout -text 2>/dev/null | grep -q '^ED25519 Private-Key:' || fail "$1: is no Ed25519 private key"
cd "$2"
case $key in "$PWD"/*) fail "$1: stands among what is published" ;; esac
rm -f SHA256SUMS SHA256SUMS.sig
files=$(find . -type f -printf '%P\n' | LC_ALL=C sort)
[ -n "$files" ] || fail "$2: holds no file"
[ -z "$(find . -name '*[^A-Za-z0-9._+~-]*')" ] || fail "$2: a file's name has more than letters, digits and ._+~/-"
xargs -d '\n' sha256sum -- <<<"$files" >SHA256SUMS
openssl pkeyutl -sign -inkey "$key" -rawin -in SHA256SUMS -out SHA256SUMS.sig
echo "signed $(wc -l <SHA256SUMS) files; the public key:"
openssl pkey -in "$key" -pubout
