"""Write or check the pins: the exact version of every package that the project resolves to.

    uv run python scripts/pins.py             pin what is new, keep every other pin
    uv run python scripts/pins.py --upgrade   forget the pins and take the newest versions
    uv run python scripts/pins.py --check     exit with 1 where the pins are not complete

The pins are kept twice: in constraints.txt, for pip, and in pyproject.toml, since `uv run` reads
constraints from there alone. They hold versions and no addresses, so they work with any index;
uv.lock records where each file came from, and for that reason is not kept.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
PYPROJECT = ROOT / "pyproject.toml"

HEADING = "# Every package at the version that Clew is tested with; written by scripts/pins.py.\n"
_TABLE = re.compile(r"(?<=^constraint-dependencies = \[\n).*?(?=^\]$)", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Do what the arguments say; the exit status."""
    parser = argparse.ArgumentParser(description="Write or check the pins.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="write nothing, compare")
    choice.add_argument("--upgrade", action="store_true", help="take the newest versions")
    args = parser.parse_args()
    if args.check:
        return check(resolve())
    if args.upgrade:
        write([])
    pins = resolve(upgrade=args.upgrade)
    write(pins)
    print(f"{len(pins)} pins")
    return 0


def resolve(*, upgrade: bool = False) -> list[str]:
    """Each package that any supported platform needs, as `name==version` with its marker.

    uv resolves under the constraints of pyproject.toml, so that pins stay what they are and only
    packages without one move.
    """
    command = [os.environ.get("UV", "uv"), "export", "--quiet", "--no-hashes", "--no-annotate"]
    command += ["--no-header", "--no-emit-workspace", "--all-extras", "--all-groups"]
    # It brings torch, whose packages differ with the machine; people choose theirs.
    command += ["--no-extra", "sentence-transformers"]
    command += ["--upgrade"] if upgrade else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return [line for line in done.stdout.splitlines() if line.strip()]


def check(pins: list[str]) -> int:
    """1, and what is wrong, where the pins are not those resolved or the two places differ."""
    held = CONSTRAINTS.read_text("utf-8").removeprefix(HEADING).splitlines()
    problems = [f"not pinned: {version}" for version in sorted(_versions(pins) - _versions(held))]
    problems += [f"not needed: {version}" for version in sorted(_versions(held) - _versions(pins))]
    if _table() != table_text(held):
        problems.append("constraints.txt and pyproject.toml differ")
    if problems:
        print(*problems, "run: uv run python scripts/pins.py", sep="\n")
    return int(bool(problems))


def _versions(pins: list[str]) -> set[str]:
    """The pins without their markers, which uv words differently from release to release."""
    return {pin.partition(" ;")[0] for pin in pins}


def write(pins: list[str]) -> None:
    """Put the pins in both places."""
    CONSTRAINTS.write_text(constraints_text(pins), encoding="utf-8")
    text = _TABLE.sub(lambda _: table_text(pins), PYPROJECT.read_text("utf-8"), count=1)
    PYPROJECT.write_text(text, encoding="utf-8")


def constraints_text(pins: list[str]) -> str:
    """The file that `pip install --constraint` reads."""
    return HEADING + "".join(f"{pin}\n" for pin in pins)


def table_text(pins: list[str]) -> str:
    """The lines between the brackets of `constraint-dependencies`; markers hold single quotes."""
    return "".join(f'  "{pin}",\n' for pin in pins)


def _table() -> str:
    match = _TABLE.search(PYPROJECT.read_text("utf-8"))
    if match is None:
        sys.exit("pyproject.toml has no constraint-dependencies table, one pin a line")
    return match.group()


if __name__ == "__main__":
    sys.exit(main())
