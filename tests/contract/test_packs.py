"""Packs by the worked example of docs/packs.md, on each back end."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew import Clew
from clew.errors import InputError, NotFoundError
from clew.packs import EnabledPacks
from clew.settings import Settings, load_settings
from tests.contract.pack_stores import open_with, pack_settings

PAGE = Path(__file__).parents[2] / "docs" / "packs.md"
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page: `packs/garden`, a pack, and `beds.plants`, which it reads."""
    folder = tmp_path_factory.mktemp("example")
    for name, text in BLOCK.findall(PAGE.read_text("utf-8")):
        path = folder / name if name.endswith(".plants") else folder / "packs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.fixture(params=["sqlite", "neo4j"])
def settings(request: pytest.FixtureRequest, example: Path, tmp_path: Path) -> Iterator[Settings]:
    folders = {"folders": (example / "packs",)}
    with pack_settings(request, request.param, tmp_path, packs=folders) as found:
        yield found


def neighbors(store: Clew, name: str, relation: str, direction: str = "both") -> list[str]:
    entity_id = store.entities.get(name).id
    call = {"entity_id": entity_id, "relation_type": relation, "direction": direction}
    found = store.tools.call("get_entity_neighbors", call).content["neighbors"]
    return sorted(f"{one['entity_type']} {one['neighbor_name']}" for one in found)


def test_the_example_is_read_related_and_asked(settings: Settings, example: Path) -> None:
    with open_with(settings, ["garden"]) as store:
        report = store.index([example / "beds.plants"])
        found = store.tools.call("plants_query", {"sown_since": "2024-10-01"}).content["plants"]
        asked = [("North bed", "grows_in", "both"), ("North bed", "holds", "outbound"),
                 ("North bed", "holds", "inbound"), ("Winter rye", "follows", "both")]  # fmt: skip
        beds, held, nothing, after = (neighbors(store, *one) for one in asked)
        hits = store.search("What was sown after the peas in the North bed?").hits

    assert (report.added, report.skipped) == (2, ())
    assert [plant["name"] for plant in found] == ["Winter rye"]
    assert beds == held == ["plant Sugar Ann peas", "plant Winter rye"]
    assert (nothing, after) == ([], ["plant Sugar Ann peas"])
    assert "Winter rye" in {hit.chunk.title for hit in hits}


def test_enabling_lasts_and_is_seen_by_whoever_has_the_store_open(
    settings: Settings, example: Path
) -> None:
    with open_with(settings) as first, open_with(settings) as second:
        assert first.tools.call("plants_query").is_error
        assert first.index([example / "beds.plants"]).added == 1  # the file as one text
        second.packs.enable("garden")
        again = first.index([example / "beds.plants"])
        assert (again.added, again.pruned) == (2, 1)
        assert len(first.tools.call("plants_query").content["plants"]) == 2
        second.packs.disable("garden")
        assert first.tools.call("plants_query").is_error


def test_a_store_opens_where_its_pack_is_not_but_reads_nothing_without_it(
    settings: Settings, example: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_with(settings, ["garden"]) as store:
        store.index([example / "beds.plants"])
    elsewhere = settings.model_copy(update={"packs": load_settings().packs})
    with open_with(elsewhere) as store:
        assert store.search("Who grows in the North bed?").hits
        with pytest.raises(NotFoundError, match="CLEW_PACKS__FOLDERS"):
            store.index([example / "beds.plants"])
        store.packs.disable("garden")
        assert store.packs.enabled() == []

    assert "there is no pack 'garden'" in caplog.text


def test_packs_cross_to_another_process_by_name(example: Path) -> None:

    data = pickle.dumps(EnabledPacks(("garden",), (example / "packs",)))

    assert b"read_plants" not in data
    assert ".plants" in pickle.loads(data).readers


def test_documents_are_read_by_the_pack_in_a_worker(example: Path, tmp_path: Path) -> None:
    settings = load_settings(
        store=tmp_path, packs={"folders": (example / "packs",)}, limits={"isolation": "process"}
    )
    with open_with(settings, ["garden"]) as store:
        report = store.index([example / "beds.plants"])

    assert report.added == 2


@pytest.mark.parametrize("name", ["nothing", "../garden", "", "os"])
def test_an_unknown_pack_is_refused_with_those_that_there_are(name: str, tmp_path: Path) -> None:
    with (
        open_with(load_settings(store=tmp_path)) as store,
        pytest.raises(NotFoundError, match="personal"),
    ):
        store.packs.enable(name)


def test_a_pack_that_fails_to_load_says_why(tmp_path: Path) -> None:
    (tmp_path / "packs" / "broken").mkdir(parents=True)
    (tmp_path / "packs" / "broken" / "__init__.py").write_text("import nothing_of_that_name")
    settings = load_settings(store=tmp_path, packs={"folders": (tmp_path / "packs",)})
    with open_with(settings) as store, pytest.raises(InputError, match="nothing_of_that_name"):
        store.packs.enable("broken")
