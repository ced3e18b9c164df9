"""What is remembered, counted and locked."""

from __future__ import annotations

import json
import math
import pickle
import secrets
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import clew
from clew.derived_files import FileLock
from clew.errors import StoreBusyError, StoreError
from clew.search.channels import Ranking
from clew.search.rerank import apply_usage
from clew.search.session import RecentlyUsed
from clew.settings import UsageSettings, load_settings
from clew.stores.sqlite.journal import SqliteJobs
from clew.testing.fakes import HashEmbedder
from clew.text import cached

# --- cache


# --- Caches hold no more bytes than they say, whatever they are asked.


@pytest.mark.parametrize("longest", [8, 48, 200])
@pytest.mark.parametrize("letter", ["a", "\N{GRINNING FACE}"])
@pytest.mark.parametrize("beyond", [False, True])
def test_what_is_kept_of_texts_takes_no_more_than_was_allowed(
    longest: int, letter: str, beyond: bool
) -> None:
    @cached(2, longest=longest)
    def doubled(text: str) -> tuple[str, ...]:
        return (f"{text[::-1]}",)

    length = 100 * longest if beyond else longest
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(4000 if beyond else 12_000):
        doubled(f"{number:08}".ljust(length, letter))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < (100_000 if beyond else 2_000_000)


@given(
    texts=st.lists(st.tuples(st.text(max_size=12), st.none() | st.text(max_size=12)), max_size=30)
)
def test_a_cached_function_answers_as_it_would_without(
    texts: list[tuple[str, str | None]],
) -> None:
    calls: list[tuple[str, str | None]] = []

    @cached(0.01, longest=10)
    def joined(pair: tuple[str, str | None]) -> str:
        calls.append(pair)
        return f"{pair[0]}|{pair[1]}"

    for pair in [*texts, *texts]:
        assert joined(pair) == f"{pair[0]}|{pair[1]}"
    short = {pair for pair in texts if len(pair[0]) + len(pair[1] or "") <= 10}
    if len(short) <= 10:
        assert all(calls.count(pair) == 1 for pair in short)


@given(
    puts=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400)), max_size=60),
    size=st.integers(0, 8),
    kilobytes=st.floats(0, 2),
)
def test_values_used_last_stay_within_number_and_bytes(
    puts: list[tuple[int, int]], size: int, kilobytes: float
) -> None:
    kept: RecentlyUsed[int, bytes] = RecentlyUsed(size, megabytes=kilobytes / 1000)
    last: dict[int, bytes] = {}
    for key, length in puts:
        last[key] = bytes(length)
        kept.put(key, last[key])
        held = {key: value for key in last if (value := kept.get(key)) is not None}
        assert all(value == last[key] for key, value in held.items())
        assert len(held) <= size
        weights = [len(pickle.dumps(item, pickle.HIGHEST_PROTOCOL)) for item in held.items()]
        assert sum(weights) <= 1000 * kilobytes
        if size and len(pickle.dumps((key, last[key]), pickle.HIGHEST_PROTOCOL)) <= int(
            1000 * kilobytes
        ):
            assert key in held, "what was put last"


# --- Usage in the order: the formula, and what must never happen.


NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)

rankings = st.lists(st.floats(0.015625, 64, width=32), min_size=1, max_size=10, unique=True).map(
    lambda scores: Ranking(
        np.arange(1, len(scores) + 1), np.array(sorted(scores, reverse=True), np.float32)
    )
)
uses = st.tuples(
    st.integers(1, 1000), st.integers(-30, 4000).map(lambda days: NOW - timedelta(days=days))
)
usages = st.dictionaries(st.integers(1, 12), uses, max_size=10)
weights = st.floats(0, 1)


@given(rankings, usages, weights, st.floats(0.5, 365))
def test_scores_agree_with_the_formula(
    ranking: Ranking, usage: dict[int, tuple[int, datetime]], weight: float, half_life: float
) -> None:
    found = apply_usage(ranking, usage, NOW, UsageSettings(weight=weight, half_life_days=half_life))

    known = [i for i in ranking.ids.tolist() if i in usage]
    assume(weight > 0 and known)
    most = max(usage[i][0] for i in known)
    low, high = float(ranking.scores.min()), float(ranking.scores.max())
    expected = {}
    for chunk_id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
        useful = 0.0
        if chunk_id in usage:
            count, last = usage[chunk_id]
            age = max((NOW - last) / timedelta(days=1), 0)
            useful = (0.5 ** (age / half_life) + math.log1p(count) / math.log1p(most)) / 2
        share = (score - low) / (high - low) if high > low else 1.0
        expected[chunk_id] = (1 - weight) * share + weight * useful
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
        expected, abs=1e-5
    )
    assert (np.diff(found.scores) <= 0).all()


# --- What reads arguments as JSON takes no id that Clew hands out for a number.


@pytest.mark.parametrize("drawn", ["639356e1005506341", "12345678901234567"])
def test_no_id_that_is_handed_out_reads_as_a_number(
    drawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlucky(length: int) -> str:
        return (drawn * 4)[: 2 * length]

    monkeypatch.setattr(secrets, "token_hex", unlucky)
    settings = load_settings(store=tmp_path / "store")
    with clew.Clew(settings, embedder=HashEmbedder()) as store:
        job, _ = SqliteJobs(store.state.journal).submit("ingest", {}, description="")
        for id_ in (job.id, store.chat().id):
            assert len(id_) >= 12
            with pytest.raises(ValueError, match="Expecting value"):
                json.loads(id_)


# --- file lock


_HOLDER = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from clew.derived_files import FileLock
with FileLock(Path(sys.argv[1]), 10.0, "busy").held():
    print("held", flush=True)
    time.sleep(600)
"""


def test_one_thread_at_a_time_is_inside(tmp_path: Path) -> None:
    inside: list[int] = []

    def work(number: int) -> int:
        with FileLock(tmp_path / "lock", 30.0, "busy").held():
            inside.append(number)
            time.sleep(0.002)
            most = len(inside)
            inside.remove(number)
        return most

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(20))) == {1}
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


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot lock .*file.*check the folder's rights"):
        held(tmp_path / "file" / "lock", 0.1).__enter__()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"cannot lock .*folder.*unable to open database file"):
        held(tmp_path / "folder", 0.1).__enter__()


def held(path: Path, seconds: float) -> AbstractContextManager[None]:
    return FileLock(path, seconds, "ask later").held()
