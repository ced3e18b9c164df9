"""A disk that is full is said to be, and nothing stored is lost."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tests.e2e.conftest import Library, Run

ON_A_FULL_DISK = """
set -e
mkdir {disk} && mount -t tmpfs -o size={size} tmpfs {disk} && cp -r {store} {disk}/store
cat /dev/zero > {disk}/rest 2> /dev/null || true
{clew} --store {disk}/store search "Who built the mill?" || true
{clew} --store {disk}/store delete {mill} || true
rm {disk}/rest
{clew} --store {disk}/store documents
{clew} --store {disk}/store check
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system of its own")
def test_a_full_disk_is_said_to_be_full(clew: Run, library: Library) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    place = library.store.parent / "disk"
    command = shlex.join([sys.executable, "-m", "clew"])
    held = sum(file.stat().st_size for file in library.store.rglob("*") if file.is_file())
    script = ON_A_FULL_DISK.format(
        disk=place,
        size=held + 4_000_000,
        store=library.store,
        clew=command,
        mill=library.folder / "mill.md",
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    # Deleting needs room; searching does only where no process has left its index of the log.
    assert "the disk is full; free some space" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "mill.md" in done.stdout
    assert "0 broken" in done.stdout
