#!/usr/bin/env bash
# What counting the instructions of a request needs beyond Python: valgrind, from Debian.
set -euo pipefail
as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
$as_root apt-get update -qq
$as_root apt-get install -y -qq valgrind
