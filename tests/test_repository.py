from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Written in parts, so that this file is held to its own rule.
FORBIDDEN = {
    "a package registry's host": rf"pypi\.{'org'}|pythonhosted\.{'org'}|files\.{'pythonhosted'}",
    "a home folder": rf"/(?:{'root'}|{'home'}/\w+|{'Users'}/\w+)/",
    "a checkout's path": rf"(?<![\w.]){'/'}work/",
    "an address with a password": r"https?://[^\s/:@]+:[^\s/@]+@",
}


def tracked_files() -> list[Path]:
    """Files that are, or would be, committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    return [file for file in files if file.is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what].encode())

    found = [
        str(file.relative_to(ROOT)) for file in tracked_files() if pattern.search(file.read_bytes())
    ]

    assert found == []


def test_no_lock_file_is_kept() -> None:
    assert [file.name for file in tracked_files() if file.name == "uv.lock"] == []


def test_pins_are_bare_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()[1:]

    wrong = [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+!-]+( ; [^/@]+)?", line)]

    assert wrong == []


NAMED = re.compile(
    r"(?<![\w./])(?:\.\./)?((?:[\w-]+/)*[\w-]+\.py|(?:src/)?clew/[\w/]*\w)(?!\w|-|\.\w)"
)
"""A Python file or a folder of the package in a text: `graph/pagerank.py`, `clew/search`."""


EXAMPLES = {"test_my_store.py", "garden/__init__.py", "garden/tools.py"}
"""Files that a reader is to write."""


def named_paths(text: str) -> set[str]:
    return {match[1] for match in NAMED.finditer(text)}


def _up(file: Path) -> list[Path]:
    """A file of the repository and the folders that it is in."""
    return [file, *(folder for folder in file.parents if folder.is_relative_to(ROOT))]


def test_paths_in_texts_are_found() -> None:
    text = (
        "[x](../src/clew/ports) `a/b.py`, (`clew/graph/c`); /etc/clew/clew.toml clew.db src/clew/d."
    )

    assert named_paths(text) == {"src/clew/ports", "a/b.py", "clew/graph/c", "src/clew/d"}


def test_every_module_that_the_documents_name_exists() -> None:
    files = tracked_files()
    known = {f"/{path.relative_to(ROOT).as_posix()}" for file in files for path in _up(file)}
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]

    missing = [
        f"{document.name}: {path}"
        for document in documents
        for path in sorted(named_paths(document.read_text("utf-8")) - EXAMPLES)
        if not any(name.endswith(f"/{path}") for name in known)
    ]

    assert missing == []


def test_links_of_the_readme_lead_somewhere_from_anywhere() -> None:
    """The page of an index shows it, too, where a relative link leads nowhere."""
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    own = [link.partition("/blob/main/")[2] for link in links]

    assert [link for link in links if not link.startswith("https://")] == []
    assert [name for name in own if name and not (ROOT / name).is_file()] == []
