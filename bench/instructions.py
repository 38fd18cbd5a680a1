"""`python -m bench.instructions TREE`: the instructions that a request costs a broker, of this tree and of another one.

Seconds depend on what else the machine does, and on the luck of a process: where its memory lies. Instructions hardly
do: two runs differ by a few in a thousand. So this tells small changes from noise, as `bench.beside` tells large ones.
The kernel's part is not counted, and brokers do not wait for the disk, since how many writes share a sync is luck, too.
Valgrind's callgrind counts; a broker under it is fifty times slower, so that a work takes half a minute.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench import store
from bench.beside import WORKS, Slice, Unsynced, running
from bench.rivals import end_in_order_on_sigterm

HERE: Final = Path(__file__).parents[1]
LEAST: Final = 0.98
"""Of the other tree's figure; below it, the exit code is 1."""
USUAL: Final = ("produce_batches", "produce_single", "produce_in_turn", "fetch_large", "fetch_small", "acknowledge",
                "api_versions", "connect")  # fmt: skip
WARM_UP, SLICES = 2, 6
_TOTALS: Final = re.compile(r"^totals: (\d+)$", re.MULTILINE)


class Counted(Unsynced):
    """A broker under callgrind."""

    def command(self) -> list[str]:
        counting = ["--tool=callgrind", f"--callgrind-out-file={self.directory}/callgrind.out"]
        same_order = ["env", "PYTHONHASHSEED=0"]  # of sets, and so of what is done
        return [*same_order, "valgrind", "-q", *counting, *super().command()]

    def counted(self) -> int:
        """Instructions since it was asked last."""
        assert self._process is not None, "the broker is not running"
        control = ["callgrind_control", "--dump", str(self._process.pid)]
        subprocess.run(control, check=True, capture_output=True, cwd=self.directory)
        newest = max(self.directory.glob("callgrind.out.*"), key=lambda path: int(path.suffix[1:]))
        return sum(int(each) for each in _TOTALS.findall(newest.read_text()))


def can_count() -> bool:
    return shutil.which("callgrind_control") is not None


def counted(other: Counted, own: Counted, works: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """Each work with the instructions of a request, or message, of both brokers."""
    with ExitStack() as stack:
        for broker in (other, own):
            stack.enter_context(running(broker))
        for name in works:
            yield name, _instructions(other, name), _instructions(own, name)


def _instructions(broker: Counted, name: str) -> float:
    """In the slice with the fewest: in the others something else was done, too."""
    with ExitStack() as stack:
        work = WORKS[name](broker, stack)
        for _ in range(WARM_UP):
            work()
        broker.counted()
        return min(_of_slice(broker, work) for _ in range(SLICES))


def _of_slice(broker: Counted, work: Slice) -> float:
    done = work()
    return broker.counted() / done


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("tree", type=Path, help="the other tree, with a .venv of its own")
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=WORKS, default=USUAL, help=", ".join(WORKS))
    arguments = parser.parse_args()
    if not can_count():
        sys.exit("there is no valgrind: apt-get install valgrind")
    end_in_order_on_sigterm()
    found: dict[str, dict[str, float]] = {}
    print(f"{'work':18} {'theirs':>12} {'ours':>12}    ratio   (instructions of a request)")
    with tempfile.TemporaryDirectory(prefix="penstock-instructions-") as directory:
        pair = (Counted(Path(directory) / "other", arguments.tree), Counted(Path(directory) / "own", HERE))
        for name, theirs, ours in counted(*pair, arguments.only):
            found[name] = {"theirs": theirs, "ours": ours, "ratio": theirs / ours}
            low = "" if theirs / ours >= LEAST else "  BELOW"
            print(f"{name:18} {theirs:12,.0f} {ours:12,.0f} {theirs / ours:8.3f}{low}", flush=True)
    print(f"written to {store.save('instructions', {'tree': str(arguments.tree), 'instructions': found})}")
    return int(any(one["ratio"] < LEAST for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
