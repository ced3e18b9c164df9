"""Run every check, the same at the desk and in CI.

    uv run python scripts/check.py
    uv run python scripts/check.py --coverage    the lines that no test runs, too; 90 % at least are
    uv run python scripts/check.py --nightly     the tests that are marked `nightly`, too

Prints a line a step, with the output of the steps that fail; the tests come last and show theirs.
The exit status is 1 where any step failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

STEPS = {
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
    "docs": ["python", "scripts/docs.py", "--check"],
    "pins": ["python", "scripts/pins.py", "--check"],
    "vendor": ["python", "scripts/vendor.py", "--check"],
    "budget": ["python", "scripts/budget.py", "--check"],
    "protocol": ["python", "scripts/protocol.py"],
    # Real servers for the tests; once on a machine.
    "neo4j": ["python", "scripts/neo4j_server.py", "fetch"],
    "gds": ["python", "scripts/neo4j_server.py", "fetch", "--gds", "--apoc"],
}
# Two processes, and the tests of a file in one of them: they share servers.
# In the order of their names: files with few and slow tests would come last, one process idle.
TESTS = ["pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
# Measuring takes two fifths more time, and no test depends on it.
COVERAGE = ["--cov", "--cov-report=term-missing:skip-covered", "--cov-fail-under=90"]

# Overrides the selection of `pyproject.toml`.
NIGHTLY = ["-m", "nightly or not nightly"]


def main() -> int:
    """Run all steps, whatever comes of the ones before; 0 where all passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--coverage", action="store_true", help="measure what the tests run")
    parser.add_argument("--nightly", action="store_true", help="run the long tests, too")
    given = parser.parse_args()
    failed = [name for name, command in STEPS.items() if not run_step(name, command)]
    if failed:
        print(f"failed: {', '.join(failed)}; the tests run all the same", flush=True)
    # Not captured, so that the last line is pytest's own.
    print("tests", flush=True)
    options = [*(COVERAGE if given.coverage else []), *(NIGHTLY if given.nightly else [])]
    tests = subprocess.run(uv_run([*TESTS, *options]), cwd=ROOT, check=False)
    return int(bool(failed) or tests.returncode != 0)


def run_step(name: str, command: list[str]) -> bool:
    """Run one step quietly, print its line, and its output where it failed."""
    began = time.perf_counter()
    done = subprocess.run(
        uv_run(command),
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    passed = done.returncode == 0
    seconds = time.perf_counter() - began
    print(f"{name:<8} {'ok' if passed else 'FAILED'} ({seconds:.1f} s)", flush=True)
    if not passed:
        print(done.stdout.rstrip(), flush=True)
    return passed


def uv_run(command: list[str]) -> list[str]:
    """The command in the environment with the tools of `dev` and a real language model."""
    groups = ["--group", "dev", "--group", "llm-real"]
    return [os.environ.get("UV", "uv"), "run", *groups, *command]


if __name__ == "__main__":
    sys.exit(main())
