"""Attack Clew on this machine, and say what held.

    uv run python scripts/attack.py              every attack, some minutes
    uv run python scripts/attack.py terminal     those of a section

Nothing beyond this machine is talked to, and every attack is bounded. A line an attack, with its
figures; what was broken is shown below it, and the exit status is 1. The attacks are those of
tests/security/, where the fast ones run with the other tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.security import forgeries, terminal  # noqa: E402


def main(wanted: Sequence[str]) -> int:
    """Run the attacks of the sections named (all, where none is); 1 where one was successful."""
    sections = {section for section, _, _ in ATTACKS}
    if unknown := set(wanted) - sections:
        print(f"no section {', '.join(unknown)}; there are {', '.join(sorted(sections))}")
        return 2
    held = [
        run(section, what, attack)
        for section, what, attack in ATTACKS
        if not wanted or section in wanted
    ]
    print(f"{sum(held)} of {len(held)} attacks held")
    return int(not all(held))


def run(section: str, what: str, attack: Callable[[Path], str]) -> bool:
    """Run one attack in a folder of its own, print its line; whether it held."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="clew-attack-") as folder:
        try:
            held, said = True, attack(Path(folder))
        except AssertionError as error:
            held, said = False, str(error)
    seconds = time.perf_counter() - began
    print(f"{'held' if held else 'BROKEN':<7}{section}: {what} ({seconds:.1f} s)", flush=True)
    print(re.sub(r"^", "       ", said, flags=re.MULTILINE), flush=True)
    return held


def checked(*targets: str) -> Callable[[Path], str]:
    """An attack that is a file of tests."""

    def attack(folder: Path) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "--basetemp", str(folder / "t"), *targets]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout.strip().splitlines()[-1]

    return attack


ATTACKS: tuple[tuple[str, str, Callable[[Path], str]], ...] = (
    (
        "terminal",
        "escape sequences of documents, names and arguments through every command",
        lambda folder: terminal.write_through_every_command(terminal.hostile_store(folder)),
    ),
    (
        "terminal",
        "the same through bars of progress, questions, pipes, logs, JSON and exports",
        checked("tests/security/test_terminal.py"),
    ),
    (
        "context",
        "texts and titles that pass for other passages, by every strategy",
        forgeries.forge_parts_of_every_strategy,
    ),
    (
        "context",
        "the same in what a client's model is sent",
        lambda _: forgeries.forge_parts_of_what_a_model_is_sent(),
    ),
    ("context", "any text at all, as a property", checked("tests/unit/test_assemble.py")),
)
"""Section, what is tried, and how: raises `AssertionError` where it works, else tells figures."""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
