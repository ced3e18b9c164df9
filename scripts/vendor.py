"""Bring the explorer's JavaScript libraries from their npm packages, by version and hash.

    uv run python scripts/vendor.py            # writes src/clew/web/static/vendor
    uv run python scripts/vendor.py --check    # compares what is there with the digests below

To take another version, change it here together with the hash that `npm view NAME dist.integrity`
says; the script prints the digests of the new files.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src" / "clew" / "web" / "static" / "vendor"


@dataclass(frozen=True)
class Package:
    """A package of npm, and the files that are taken from it."""

    name: str
    version: str
    integrity: str
    """SHA-512 of the package as npm has it, in base64."""
    files: dict[str, tuple[str, str]]
    """By path in the package: the name here, and the SHA-256 of what is written."""


PACKAGES = (
    Package(
        "htmx.org",
        "2.0.11",
        "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA==",
        {
            "dist/htmx.min.js": (
                "htmx.min.js",
                "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
            ),
            "LICENSE": (
                "htmx.LICENSE",
                "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
            ),
        },
    ),
    Package(
        "sigma",
        "3.0.3",
        "5H0zFlx6/NTQpqBg4Rm569ZOpnBOXMaS25UQThIWMU3XyzI5AhmorK/gnl87BvJBLhQd0tW4C0LIp3enWzMoNw==",
        {
            "dist/sigma.min.js": (
                "sigma.min.js",
                "e189236f25efb87d7613ea9ed2435fc001ec274820aec2e6fc3e9ef3aa97be98",
            ),
            "LICENSE.txt": (
                "sigma.LICENSE",
                "2d6beb4435a5186414986ef25facdea68619d0f3e1043b9a795f5c6233914013",
            ),
        },
    ),
    Package(
        "graphology",
        "0.26.0",
        "8SSImzgUUYC89Z042s+0r/vMibY7GX/Emz4LDO5e7jYXhuoWfHISPFJYjpRLUSJGq6UQ6xlenvX1p/hJdfXuXg==",
        {
            "dist/graphology.umd.min.js": (
                "graphology.min.js",
                "e65803eba4826a52a84ec3fedebda3e2434ff25d86b3e2309bfe6575141ab2ff",
            ),
            "LICENSE.txt": (
                "graphology.LICENSE",
                "9d396b4882c329077f32861c0d6822dcee48f2d0ff6196d8459af70844196275",
            ),
        },
    ),
    Package(
        "graphology-layout-forceatlas2",
        "0.10.1",
        "ogzBeF1FvWzjkikrIFwxhlZXvD2+wlY54lqhsrWprcdPjopM2J9HoMweUmIgwaTvY4bUYVimpSsOdvDv1gPRFQ==",
        {
            "iterate.js": (
                "forceatlas2.min.js",
                "32380f327ebdbf7e1ffb86abe740fe91c0e75b311f5bf61961b31a12bc836770",
            ),
            "LICENSE.txt": (
                "forceatlas2.LICENSE",
                "9d396b4882c329077f32861c0d6822dcee48f2d0ff6196d8459af70844196275",
            ),
        },
    ),
)


def main() -> int:
    """Write the files, or compare them; 1 where something differs."""
    if "--check" not in sys.argv[1:]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for package in PACKAGES:
            fetch(package)
    wrong = [
        f"{name}: {found}, expected {expected}"
        for package in PACKAGES
        for name, expected in package.files.values()
        if (found := digest(FOLDER / name)) != expected
    ]
    print("\n".join(wrong) or "the vendored files are as they should be")
    return int(bool(wrong))


def fetch(package: Package) -> None:
    """Take the files out of a package; raises `ValueError` where it is another than expected."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{package.name}@{package.version}"
        subprocess.run(["npm", "pack", "--silent", wanted], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != package.integrity:
            raise ValueError(f"{wanted} has the hash {found}, expected {package.integrity}")
        with tarfile.open(archive) as files:
            for path, (name, _) in package.files.items():
                member = files.extractfile(f"package/{path}")
                assert member is not None, path
                content = member.read()
                (FOLDER / name).write_bytes(lean(content) if name.endswith(".js") else content)


def lean(content: bytes) -> bytes:
    """Without the comments and the indentation of lines; shaders stand in scripts as written."""
    told = rb"\n[ \t]*(?://[^\n`]*|/\*\*\n(?:[ \t]*\*[^\n`]*\n)*?[ \t]*\*/)(?=\n)"
    return re.sub(rb"\n\s+", b"\n", re.sub(told, b"", content))


def digest(file: Path) -> str:
    """SHA-256 in hex; empty where there is no such file."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
