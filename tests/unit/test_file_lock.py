from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from clew.errors import StoreBusyError, StoreError
from clew.stores.file_lock import FileLock

_HOLDER = """
import sys, time
from contextlib import AbstractContextManager
from pathlib import Path
from clew.stores.file_lock import FileLock
with FileLock(Path(sys.argv[1]), 10.0, "busy").held():
    print("held", flush=True)
    time.sleep(600)
"""


def test_one_thread_at_a_time_is_inside(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(5):
            with FileLock(tmp_path / "lock", 30.0, "busy").held():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.002)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside[0], most[0]) == (0, 1)
    assert (tmp_path / "lock").stat().st_size == 0


def test_a_process_that_holds_it_is_waited_for_and_one_that_is_killed_lets_go(
    tmp_path: Path,
) -> None:
    path = tmp_path / "folder" / "lock"
    command = [sys.executable, "-c", _HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        with pytest.raises(StoreBusyError, match=r"^ask later$"), held(path, 0.3):
            pass
        assert 0.2 < time.monotonic() - started < 5
        holder.kill()
    with held(path, 0.3):
        pass


def test_after_an_error_inside_it_is_free(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), held(tmp_path / "lock", 0.1):
        raise ZeroDivisionError
    with held(tmp_path / "lock", 0.1):
        pass


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot lock .*file.*check the folder's rights"):
        held(tmp_path / "file" / "lock", 0.1).__enter__()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"cannot lock .*folder.*unable to open database file"):
        held(tmp_path / "folder", 0.1).__enter__()


def held(path: Path, seconds: float) -> AbstractContextManager[None]:
    return FileLock(path, seconds, "ask later").held()
