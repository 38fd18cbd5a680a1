"""`python -m tests.chaos [--seconds N] [--seed N] [--target kafka]`: 1 if something was wrong or too little happened.

The same seed makes the clients try the same and the faults come in the same order; what comes of it depends on the
machine, so a run is repeatable in what it tries, not in what happens. Histories and the broker's log are kept if
anything was wrong.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.clients.java import java_is_there
from tests.chaos.plan import LONG_CREW, OF_PENSTOCK, TOO_MUCH_FOR_KAFKA, Fault, Role
from tests.chaos.run import Chaos


def left_out(target: str, *, restart_kafka: bool) -> tuple[Fault, ...]:
    if target == "penstock":
        return ()
    return OF_PENSTOCK if restart_kafka else TOO_MUCH_FOR_KAFKA


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--target", choices=("penstock", "kafka"), default="penstock")
    parser.add_argument("--restart-kafka", action="store_true", help="stop and kill the control, too: it loses commits")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # clients and broker are ended on the way out
    directory = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    print(f"seed {options.seed}, {options.seconds:.0f} s against {options.target} in {directory}", flush=True)
    roles = LONG_CREW if java_is_there() else tuple(role for role in LONG_CREW if role is not Role.JAVA)
    chaos = Chaos(
        directory,
        target=options.target,
        seed=options.seed,
        seconds=options.seconds,
        roles=roles,
        without=left_out(options.target, restart_kafka=options.restart_kafka),
    )
    try:
        if not chaos.start_broker():
            print("the broker has no transactions")
            return 1
        result = chaos.run()
    finally:
        chaos.broker.kill9()
    print(result.text())
    if result.passed:
        shutil.rmtree(directory)
    else:
        print(f"seed {options.seed}; histories and the broker's log are in {directory}")
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
