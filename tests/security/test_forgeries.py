"""No text of a document passes for another part of a context."""

from __future__ import annotations

from pathlib import Path

from tests.security import forgeries


def test_no_context_has_a_forged_part(tmp_path: Path) -> None:
    assert len(forgeries.FORGERIES) >= 70

    forgeries.forge_parts_of_every_strategy(tmp_path)
