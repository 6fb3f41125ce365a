#!/usr/bin/env bash
# Writes the SHA-256 of all packages in a folder to SHA256SUMS, and signs it: packaging/sign.sh FOLDER KEY
#
# KEY is a private key of ssh-keygen; the file of its public half, packaging/release.pub, is what users verify with (docs/install.md).
set -euo pipefail
shopt -s nullglob
key="$(readlink -f "$2")"
cd "$1"
rm -f SHA256SUMS SHA256SUMS.sig
packages=(*.whl *.tar.gz *.zip *.tgz *.deb)
((${#packages[@]})) || { echo "$1: no packages" >&2 && exit 1; }
sha256sum -- "${packages[@]}" >SHA256SUMS
ssh-keygen -q -Y sign -f "$key" -n annals-release SHA256SUMS
