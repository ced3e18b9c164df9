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

from tests.security import terminal, test_forgeries  # noqa: E402


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
        except Exception as error:  # noqa: BLE001 - what fails has not held
            held, said = False, f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - began
    print(f"{'held' if held else 'BROKEN':<7}{section}: {what} ({seconds:.1f} s)", flush=True)
    print(re.sub(r"^", "       ", said, flags=re.MULTILINE), flush=True)
    return held


def checked(*targets: str) -> Callable[[Path], str]:
    """An attack that is files of tests."""

    def attack(folder: Path) -> str:
        said = _output(
            "pytest",
            "-q",
            "-m",
            "nightly or not nightly",
            "--basetemp",
            str(folder / "t"),
            *targets,
        )
        return said.splitlines()[-1]

    return attack


def measured(module: str, *options: str) -> Callable[[Path], str]:
    """An attack whose cost is measured, on the default limits."""
    return lambda _: _output(f"benchmarks.{module}", *options)


def _output(module: str, *options: str) -> str:
    command = [sys.executable, "-m", module, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout.strip()


_TESTS = "tests/security"
ATTACKS: tuple[tuple[str, str, Callable[[Path], str]], ...] = (
    (
        "parsing",
        "every regular expression on pumped texts, 20 KB to 1 MB",
        checked(f"{_TESTS}/test_patterns.py"),
    ),
    (
        "parsing",
        "hard texts against the time of prose",
        checked(f"{_TESTS}/test_shapes.py"),
    ),
    (
        "worker",
        "documents that hang, unfold or crash their reader; kills, signals, restarts",
        checked(f"{_TESTS}/test_isolation.py"),
    ),
    (
        "access",
        "files: paths, links, races, the settings and the store as documents",
        checked(f"{_TESTS}/test_file_access.py"),
    ),
    (
        "access",
        "addresses: special-purpose ranges in every notation, redirects, names that change",
        checked(f"{_TESTS}/test_special_addresses.py", "tests/unit/test_fetch.py"),
    ),
    (
        "access",
        "backups of others, and backups that were tampered with",
        checked(f"{_TESTS}/test_backup_attacks.py"),
    ),
    (
        "access",
        "forged origins, hosts and tokens, other namespaces, limited tokens, odd arguments",
        checked(f"{_TESTS}/test_http_attacks.py", "tests/unit/test_mcp_access.py"),
    ),
    (
        "http",
        "slow, idle, long and many: headers, bodies, connections, sessions, quotas",
        checked(
            f"{_TESTS}/test_http_sessions.py",
            f"{_TESTS}/test_quotas.py",
            "tests/unit/test_mcp_engines.py",
        ),
    ),
    (
        "http",
        "3,000 sessions, then two headers of 100 MB: what they cost the server",
        measured("attacks"),
    ),
    (
        "damage",
        "bytes that change in the store and beside it, files that are lost",
        checked("tests/unit/test_sqlite_check.py", "tests/unit/test_derived_files.py"),
    ),
    (
        "damage",
        "processes that are killed while they index, copy, reindex and work on jobs",
        checked("tests/e2e/test_killed.py", "tests/e2e/test_power_loss.py"),
    ),
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
        test_forgeries.forge_parts_of_every_strategy,
    ),
    ("context", "any text at all, as a property", checked("tests/unit/test_context.py")),
)
"""Section, what is tried, and how: raises `AssertionError` where it works, else tells figures."""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
