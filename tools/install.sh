#!/usr/bin/env bash
# Puts everything of requirements/dev.txt and Penstock itself, editable, into .venv.
#
# uv does it in a quarter of pip's time. It does not read pip's settings (a mirror, a proxy's certificate), so where it
# cannot be had or fails, pip does the same, with the same pinned versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=.venv/bin/python
pip=("$python" -m pip install --quiet --disable-pip-version-check)
uv=(.venv/bin/uv pip install --python "$python" --quiet --compile-bytecode)
editable=(--no-deps --no-build-isolation --editable .)

with_uv() {
    "${pip[@]}" "$(grep '^uv==' requirements/dev.txt)" && "${uv[@]}" -r requirements/dev.txt && "${uv[@]}" "${editable[@]}"
}

if ! with_uv; then
    echo "Installing with pip instead of uv, which takes two minutes …"
    "${pip[@]}" -r requirements/dev.txt
    "${pip[@]}" "${editable[@]}"
fi
