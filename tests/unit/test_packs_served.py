"""The tools of packs as servers and the command line offer them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from clew.mcp.engines import Engines
from clew.plugins.personal.tools import TOOLS as PERSONAL
from clew.tools.spec import Caller
from clew.tools.toolbox import TOOLS
from tests.unit.mcp_tools import engine_in, settings_for

NAMES = {tool.name for tool in PERSONAL}


def offered(folder: Path, profile: str, namespace: str, caller: Caller | None = None) -> set[str]:
    """Names of the tools of the pack that a server of that folder offers."""
    settings = settings_for(folder, profile=profile)
    with engine_in(folder) as first, closing(Engines(settings, TOOLS, first)) as engines:
        if not engines.with_packs:
            return {tool.name for tool in engines.tools} & NAMES
        return {tool.name for tool in engines.offered(namespace, caller or Caller())} & NAMES


def test_tools_of_a_pack_are_offered_where_it_is_enabled(tmp_path: Path) -> None:
    for namespace in ("default", "mills"):
        with engine_in(tmp_path, namespace) as engine:
            engine.add("Ada Morn built the mill.")
            if namespace == "default":
                engine.packs.enable("personal")

    assert offered(tmp_path, "full", "default") == NAMES
    assert offered(tmp_path, "full", "mills") == set()
    assert offered(tmp_path, "full", "nowhere") == set()
    assert not (tmp_path / "nowhere").exists()
    assert offered(tmp_path, "core", "default") == set()
    reader = Caller(scopes=frozenset({"read"}))
    assert offered(tmp_path, "full", "default", reader) == NAMES - {"tasks_update"}


def test_another_namespace_neither_has_the_tools_nor_the_calendar(tmp_path: Path) -> None:
    event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Secret\nDTSTART:20240501T090000Z\nEND:VEVENT\n"  # noqa: E501
    (tmp_path / "a.ics").write_text(event + "END:VCALENDAR\n")
    ask = {"time_range": "2024-05"}
    with engine_in(tmp_path / "store", "ann") as ann, engine_in(tmp_path / "store", "bob") as bob:
        ann.packs.enable("personal")
        ann.index([tmp_path / "a.ics"])
        without = bob.tools.call("calendar_query", ask)
        bob.packs.enable("personal")
        own, others = (one.tools.call("calendar_query", ask).content for one in (ann, bob))

    assert without.is_error
    assert own["event_count"] == 1
    assert others["events"] == []
