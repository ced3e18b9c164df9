"""What a pack declares has an effect, or is refused when the pack is enabled."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from benchmarks.recorded import RecordedExtraction, RecordedLanguageModel
from clew.errors import InputError
from clew.library import Clew
from clew.ports import Reply, Request
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder

CASTLE = "Ada Morn built the great clock of Vell."
GOALS = """values:
- name: Honesty
  principles:
  - name: Say what is known
    goals:
    - {name: Show error bars, action: Each chart has error bars.}
"""


class Watched:
    """A model of which every request is kept."""

    name = "watched"

    def __init__(self) -> None:
        self.asked = list[Request]()
        self.model = RecordedLanguageModel(
            {CASTLE: RecordedExtraction(entities=[("Ada Morn", "person"), ("Vell", "dataset")])}
        )

    def reply(self, request: Request) -> Reply:
        self.asked.append(request)
        return self.model.reply(request)

    def stream(self, request: Request) -> Iterator[str | Reply]:
        yield self.reply(request)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Each test has a pack of its own under the same name."""
    yield
    for name in ("clew_pack_mine", "clew_pack_clocks_v2_1"):
        sys.modules.pop(name, None)


def pack(folder: Path, declared: str) -> None:
    (folder / "packs" / "mine").mkdir(parents=True)
    (folder / "packs" / "mine" / "__init__.py").write_text(
        "from clew.hookspecs import Pack, RelationType\n"
        f"PACK = Pack(name='mine', title='Mine', {declared})\n"
    )


def opened(folder: Path, *packs: str, model: Watched | None = None) -> Clew:
    settings = load_settings(store=folder / "store", packs={"folders": (folder / "packs",)})
    return clew.open(settings=settings, packs=packs, embedder=HashEmbedder(), language_model=model)


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("strategies={'fact': 'magic'}", "unknown strategy 'magic'; expected one of .*graph"),
        ("strategies={'riddle': 'graph'}", "unknown kind of question 'riddle'; .*period.*fact"),
        ("prompts={'sing': 'la'}", "unknown task of a prompt 'sing'; expected one of extract"),
        ("hierarchies=('value > goal',)", "cannot read the hierarchy 'value > goal'"),
    ],
)
def test_what_the_engine_does_not_know_is_refused(
    declared: str, reason: str, tmp_path: Path
) -> None:
    pack(tmp_path, declared)
    with opened(tmp_path) as store:
        with pytest.raises(InputError, match=reason):
            store.packs.enable("mine")

        assert store.packs.enabled() == []


def test_a_declared_strategy_answers_its_kind_of_question(tmp_path: Path) -> None:
    pack(tmp_path, "strategies={'fact': 'keyword'}")
    with opened(tmp_path, "mine") as store:
        store.add(CASTLE, source="castle")

        assert store.search("Who built the great clock of Vell?").strategy == "keyword"

        store.packs.disable("mine")
        assert store.search("Who built the great clock of Vell?").strategy == "graph"


def test_a_layer_of_a_declared_hierarchy_is_followed_up_and_down(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(GOALS)
    with opened(tmp_path, "constitution") as store:
        store.index([tmp_path / "ours.yaml"])

        found = store.search("Say what is known", strategy="hierarchical", layer="principle")

        (block,) = [part for part in found.context.parts if part.kind == "hierarchy"]
        assert "Honesty" in block.text
        assert "Show error bars" in block.text
        with pytest.raises(
            InputError,
            match="unknown layer 'planet'; expected one of document, section, passage, value, pri",
        ):
            store.search("What is known?", strategy="hierarchical", layer="planet")


def test_a_model_is_told_the_types_and_the_words_of_the_packs(tmp_path: Path) -> None:
    pack(
        tmp_path,
        "prompts={'extract': 'Clocks are works.'}, relation_types=(RelationType(name='wound_by'),)",
    )
    model = Watched()
    with opened(tmp_path, "mine", "papers", model=model) as store:
        store.add(CASTLE, source="castle")
        store.enrich("extract")
        types = {one.name: one.entity_type for one in store.entities.find("Vell", 5)}

    (request,) = model.asked
    assert "use these relations: " in request.instructions
    assert {"wound_by", "cites"} <= set(re.findall(r"\w+", request.instructions))
    assert "dataset" in request.instructions
    assert "Clocks are works." in request.instructions
    assert types["Vell"] == "dataset"


def test_what_a_model_states_by_the_inverse_is_stored_from_the_other_end(tmp_path: Path) -> None:
    pack(tmp_path, "relation_types=(RelationType(name='made_by', inverse='made', causal=True),)")
    model = Watched()
    model.model = RecordedLanguageModel(
        {
            CASTLE: RecordedExtraction(
                entities=[("Ada Morn", "person"), ("great clock", "work")],
                facts=[("Ada Morn", "made", "great clock", CASTLE)],
            )
        }
    )
    with opened(tmp_path, "mine", model=model) as store:
        store.add(CASTLE, source="castle")
        store.enrich("extract")
        ids = [int(i) for i in store.store.relation_rows().ids]
        found = [r for r in store.store.relations_by_id(ids) if r.relation_type.startswith("made")]
        (made,) = found
        ends = store.store.entity_names([made.from_entity_id, made.to_entity_id])

    assert (made.relation_type, made.is_causal) == ("made_by", True)
    assert (ends[made.from_entity_id], ends[made.to_entity_id]) == ("great clock", "Ada Morn")


def test_a_relation_known_by_another_name_is_stored_and_asked_as_the_pack_names_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "one.bib").write_text(
        "@article{one, title={A Study of Weirs}, author={Ada Morn and Ben Rook}, year={2020}}"
    )
    with opened(tmp_path, "papers") as store:
        store.index([tmp_path / "one.bib"])
        ids = [int(i) for i in store.store.relation_rows().ids]
        types = [one.relation_type for one in store.store.relations_by_id(ids)]
        (paper, *_) = store.entities.find("A Study of Weirs", 1)
        asked = {
            name: store.tools.call(
                "get_entity_neighbors", {"entity_id": paper.id, "relation_type": name}
            ).content["neighbors"]
            for name in ("written_by", "authored_by")
        }

    assert types.count("written_by") == 2
    assert "authored_by" not in types
    assert asked["written_by"] == asked["authored_by"]
    assert len(asked["written_by"]) == 2


def test_a_pack_of_a_folder_goes_by_the_name_that_it_declares(tmp_path: Path) -> None:
    pack(tmp_path, "")
    (tmp_path / "packs" / "mine").rename(tmp_path / "packs" / "clocks v2.1")
    with opened(tmp_path, "mine") as store:
        assert store.packs.enabled() == ["mine"]
        assert "mine" in store.packs.available()
        assert "clocks v2.1" not in store.packs.available()
