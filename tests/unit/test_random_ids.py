"""What reads arguments as JSON takes no id that Clew hands out for a number."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

import clew
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.wiring import make_jobs


@pytest.mark.parametrize("drawn", ["639356e1005506341", "12345678901234567"])
def test_no_id_that_is_handed_out_reads_as_a_number(
    drawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlucky(length: int) -> str:
        return (drawn * 4)[: 2 * length]

    monkeypatch.setattr(secrets, "token_hex", unlucky)
    settings = load_settings(store=tmp_path / "store")
    with clew.Clew(settings, embedder=HashEmbedder()) as store:
        job, _ = make_jobs(store.state.journal).submit("ingest", {}, description="")
        for id_ in (job.id, store.chat().id):
            assert len(id_) >= 12
            with pytest.raises(ValueError, match="Expecting value"):
                json.loads(id_)
