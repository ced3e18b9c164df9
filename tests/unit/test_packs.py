"""Packs: what they declare, and what a server offers of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

import clew
from benchmarks.recorded import RecordedExtraction, RecordedLanguageModel
from clew.errors import InputError, UnreadableError
from clew.indexing.reading.common import RawFile, ReadResult
from clew.library import Clew
from clew.mcp.calls import Engines
from clew.operations.spec import Caller
from clew.operations.toolbox import OPERATIONS
from clew.packs import available
from clew.plugins.constitution.pack import PACK
from clew.plugins.constitution.reading import constitution_structure
from clew.plugins.constitution.tools import opposes
from clew.plugins.personal.tools import TOOLS as PERSONAL
from clew.ports import Reply, Request
from clew.settings import LimitSettings, ReadSettings, load_settings
from clew.testing.fakes import HashEmbedder
from tests.unit.files import write
from tests.unit.mcp_tools import engine_in, settings_for

# --- The tools of packs as servers and the command line offer them.


NAMES = {tool.name for tool in PERSONAL}


def offered(folder: Path, profile: str, namespace: str, caller: Caller | None = None) -> set[str]:
    """Names of the tools of the pack that a server of that folder offers."""
    settings = settings_for(folder, profile=profile)
    with engine_in(folder) as first, closing(Engines(settings, OPERATIONS, first)) as engines:
        return {tool.name for tool in engines.offered(namespace, caller or Caller())} & NAMES


def test_tools_of_a_pack_are_offered_where_it_is_enabled(tmp_path: Path) -> None:
    for namespace in ("default", "mills"):
        with engine_in(tmp_path, namespace) as engine:
            engine.add("Ada Morn built the mill.")
            if namespace == "default":
                engine.packs.enable("personal")

    ways = (("full", "default"), ("core", "default"), ("full", "mills"), ("core", "nowhere"))
    assert [offered(tmp_path, *way) for way in ways] == [NAMES, NAMES, set(), set()]
    assert offered(tmp_path, "memory", "default") == set()
    assert not (tmp_path / "nowhere").exists()
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


# --- A constitution means the same in every format; what is wrong in one is named by its
# line.


CONSTITUTION = {
    "values": [
        {
            "name": "Honesty",
            "priority": 9,
            "description": "People can rely on us.",
            "principles": [
                {
                    "name": "Say what is known",
                    "confidence": 0.9,
                    "weight": 0.8,
                    "rationale": "A guess does harm.",
                    "goals": [
                        {
                            "name": "Show error bars",
                            "confidence": 0.7,
                            "action": "Each chart has them.",
                            "status": "active",
                            "conflicts": [{"name": "Be brief", "strength": 0.6}],
                        }
                    ],
                }
            ],
        }
    ],
    "goals": [{"name": "Be brief", "action": "One page.", "status": "proposed"}],
}
OUTLINE = """
# Value: Honesty
Priority: 9
People can rely on us.

## Principle: Say what is known
Weight: 0.8
Rationale: A guess does harm.

### Goal: Show error bars
Status: active
Confidence: 0.7
Action: Each chart has them.
- conflicts: Be brief (0.6)

# Goal: Be brief
Status: proposed
One page.
"""
TABLE = """name,layer,parent,priority,weight,status,confidence,description
Honesty,value,,9,,,,People can rely on us.
Say what is known,principle,Honesty,,0.8,,0.9,A guess does harm.
Show error bars,goal,Say what is known,,,active,0.7,Each chart has them.
Be brief,goal,,,,proposed,,One page.
"""


def read(name: str, text: str, limits: LimitSettings | None = None) -> ReadResult | None:
    raw = RawFile(
        source=f"/c/{name}",
        data=text.encode(),
        settings=ReadSettings(),
        limits=limits or LimitSettings(),
    )
    found: ReadResult | None = PACK.readers["." + name.rpartition(".")[2]](raw)
    return found


def elements(found: ReadResult | None) -> dict[str, tuple[object, ...]]:
    assert found is not None
    assert found.skipped == ()
    kept = ("entity_type", "priority", "weight", "status")
    return {
        one.title: tuple(one.metadata[name] for name in kept if name in one.metadata)
        for one in found.documents
    }


def relations(found: ReadResult | None) -> dict[tuple[str, str, str], float]:
    """With their confidence; the evidence of each stands in the text."""
    assert found is not None
    stated = [(d, one) for d in found.documents for one in constitution_structure(d).statements]
    assert all(one.tail in document.text[one.start : one.end] for document, one in stated)
    return {(one.head, one.relation_type, one.tail): one.confidence for _, one in stated}


def test_every_format_says_the_same() -> None:
    texts = {
        "a.yaml": yaml.safe_dump(CONSTITUTION, sort_keys=False),
        "a.json": json.dumps(CONSTITUTION, indent="\t"),
        "a.md": OUTLINE,
        "a.csv": TABLE,
    }
    found = {name: read(name, text) for name, text in texts.items()}

    wanted = {
        "Honesty": ("value", 9),
        "Say what is known": ("principle", 0.8),
        "Show error bars": ("goal", "active"),
        "Be brief": ("goal", "proposed"),
    }
    assert {name: elements(one) for name, one in found.items()} == dict.fromkeys(texts, wanted)
    down = {
        ("Honesty", "defines", "Say what is known"),
        ("Say what is known", "guides", "Show error bars"),
    }
    conflict = {("Show error bars", kind, "Be brief") for kind in ("conflicts", "relates_to")}
    assert {name: set(relations(one)) for name, one in found.items()} == {
        **dict.fromkeys(texts, down | conflict),
        "a.csv": down,
    }
    assert relations(found["a.yaml"]) == relations(found["a.json"])
    assert relations(found["a.yaml"])["Show error bars", "conflicts", "Be brief"] == 0.6
    known = ("Say what is known", "guides", "Show error bars")
    assert [relations(found[name])[known] for name in ("a.csv", "a.md")] == [0.7, 0.7]


@pytest.mark.parametrize(
    ("text", "line", "reason", "kept"),
    [
        (
            "values:\n- {name: A, priority: 15}\n",
            2,
            "priority of 'A' is 15; expected 1 to 10",
            {"A"},
        ),
        (
            "goals:\n- name: A\n- name: B\n  status: done\n",
            3,
            "status of 'B' is 'done'",
            {"A", "B"},
        ),
        ("goals:\n- name: A\n- action: nameless\n", 3, "without a name", {"A"}),
        ("goals:\n- name: A\n- name: A\n", 3, "another goal 'A'", {"A"}),
        (
            "goals:\n- name: A\nrelations:\n- {from: X, relation: conflicts, to: A}\n",
            4,
            "leads from or to nothing",
            {"A"},
        ),
        (
            "goals:\n- name: A\n- name: B\nrelations:\n- {from: B, relation: annoys, to: A}\n",
            3,
            "unknown relation 'annoys'",
            {"A", "B"},
        ),
        (
            "values:\n- name: A\n  defines: [B]\nprinciples:\n- name: B\n  defines: [A]\n",
            5,
            "the hierarchy is circular: B ▸ A ▸ b",
            {"A", "B"},
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_line_and_loses_nothing_else(
    text: str, line: int, reason: str, kept: set[str]
) -> None:
    found = read("a.yaml", text)

    assert found is not None
    (skipped,) = found.skipped
    assert {document.title for document in found.documents} == kept
    assert skipped.reason.startswith(f"line {line}: ")
    assert reason in skipped.reason
    if "circular" in reason:
        assert set(relations(found)) == {("A", "defines", "B")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "version: 2\ngoals: many\n"),
        ("a.json", '{"goals": [1, 2], "name": "x"}'),
        ("a.json", "{broken"),
        ("a.md", "# A note\n\nValue: none\n"),
        ("a.csv", "name,price\nA,2\n"),
    ],
)
def test_other_files_are_left_to_other_readers(name: str, text: str) -> None:
    assert read(name, text) is None


REPEATED = "  - &a0 {name: N}\n" + "".join(
    f"  - &a{n} {{name: N{n}, goals: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("values:\n- name: A\n  priority: [9\n- name: B\n", "line 4"),
        (f"principles:\n{REPEATED}", "elements"),
    ],
    ids=["broken", "repeats itself"],
)
def test_a_file_that_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read("a.yaml", text, LimitSettings(elements=1000))


def test_older_versions_are_kept_with_their_time() -> None:
    found = read(
        "a.yaml",
        "values:\n- name: Privacy\n  since: 2023-01-01\n  description: New.\n  versions:\n"
        "  - {version: 1, since: 2019-01-01, until: 2023-01-01, description: Old.}\n",
    )

    assert found is not None
    told = {one.title: (one.text.split("\n")[0], one.created_at) for one in found.documents}
    assert told == {
        "Privacy": ("New.", datetime(2023, 1, 1, tzinfo=UTC)),
        "Privacy (version 1)": ("Old.", datetime(2019, 1, 1, tzinfo=UTC)),
    }
    assert ("Privacy", "derived_from", "Privacy (version 1)") in relations(found)


@pytest.mark.parametrize(
    ("clause", "statement", "expected"),
    [
        ("Kites are not flown here.", "Fly kites.", "opposes"),
        ("She forgot to erase the tape.", "Erase each tape.", "opposes"),
        ("She forgot to erase the tape.", "Never erase a tape.", ""),
        ("The tape was erased.", "Never erase a tape.", "opposes"),
        ("He cooked without a licence.", "Nobody cooks without a licence.", "opposes"),
        ("He did not cook before noon.", "Nobody cooks before noon.", ""),
        ("Tapes are kept for good.", "Tapes are kept for two weeks.", "goes beyond"),
        ("Tapes are kept for ten days.", "Tapes are kept for two weeks.", ""),
        ("She slept for three hours.", "Guards sleep at least seven hours.", "goes beyond"),
        ("No: tapes are erased.", "Erase each tape.", ""),
    ],
)
def test_a_clause_opposes_what_it_denies_or_exceeds(
    clause: str, statement: str, expected: str
) -> None:
    assert opposes(clause, statement) == expected


# --- What a pack declares has an effect, or is refused when the pack is enabled.


CASTLE = "Ada Morn built the great clock of Vell."


class Watched(RecordedLanguageModel):
    """A model of which every request is kept."""

    def __init__(self, *facts: tuple[str, str, str, str]) -> None:
        people = [("Ada Morn", "person"), ("Vell", "place"), ("great clock", "dataset")]
        super().__init__({CASTLE: RecordedExtraction(entities=people, facts=list(facts))})
        self.asked = list[Request]()

    def reply(self, request: Request) -> Reply:
        self.asked.append(request)
        return super().reply(request)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Each test has a pack of its own under the same name."""
    yield
    for name in ("clew_pack_mine", "clew_pack_clocks_v2_1"):
        sys.modules.pop(name, None)


def pack(folder: Path, declared: str) -> None:
    write(
        folder / "packs",
        "mine/__init__.py",
        text="from clew.hookspecs import Pack, RelationType\n"
        f"PACK = Pack(name='mine', title='Mine', {declared})\n",
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
    write(tmp_path, "ours.yaml", text=yaml.safe_dump(CONSTITUTION))
    with opened(tmp_path, "constitution") as store:
        store.index([tmp_path / "ours.yaml"])
        found = store.search("Say what is known", strategy="hierarchical", layer="principle")
        (block,) = [part.text for part in found.context.parts if part.kind == "hierarchy"]
        with pytest.raises(
            InputError,
            match="unknown layer 'planet'; expected one of document, section, passage, value, pri",
        ):
            store.search("What is known?", strategy="hierarchical", layer="planet")

    assert "Honesty" in block
    assert "Show error bars" in block


def test_a_model_is_told_the_types_and_the_words_of_the_packs(tmp_path: Path) -> None:
    pack(
        tmp_path,
        "prompts={'extract': 'Clocks are works.'}, relation_types=(RelationType(name='wound_by'),)",
    )
    model = Watched()
    with opened(tmp_path, "mine", "papers", model=model) as store:
        store.add(CASTLE, source="castle")
        store.enrich("extract")
        assert store.entities.get("great clock").entity_type == "dataset"

    (told,) = [request.instructions for request in model.asked]
    assert {"wound_by", "cites", "dataset"} <= set(re.findall(r"\w+", told))
    assert "use these relations: " in told
    assert "Clocks are works." in told


def test_what_a_model_states_by_the_inverse_is_stored_from_the_other_end(tmp_path: Path) -> None:
    pack(tmp_path, "relation_types=(RelationType(name='made_by', inverse='made', causal=True),)")
    model = Watched(("Ada Morn", "made", "great clock", CASTLE))
    with opened(tmp_path, "mine", model=model) as store:
        store.add(CASTLE, source="castle")
        store.enrich("extract")
        clock = store.entities.get("great clock")
        asked = {"entity_id": clock.id, "relation_type": "made_by", "direction": "outbound"}
        (made,) = store.tools.call("get_entity_neighbors", asked).content["neighbors"]

    assert (made["neighbor_name"], made["is_causal"]) == ("Ada Morn", True)


def test_a_relation_known_by_another_name_is_stored_and_asked_as_the_pack_names_it(
    tmp_path: Path,
) -> None:
    text = "@article{one, title={A Study of Weirs}, author={Ada Morn and Ben Rook}, year={2020}}"
    write(tmp_path, "one.bib", text=text)
    with opened(tmp_path, "papers") as store:
        store.index([tmp_path / "one.bib"])
        paper = store.entities.get("A Study of Weirs")
        written, authored = (
            store.tools.call("get_entity_neighbors", {"entity_id": paper.id, "relation_type": name})
            for name in ("written_by", "authored_by")
        )

    assert [one["relation_type"] for one in written.content["neighbors"]] == ["written_by"] * 2
    assert authored.content["neighbors"] == written.content["neighbors"]


def test_a_pack_of_a_folder_goes_by_the_name_that_it_declares(tmp_path: Path) -> None:
    pack(tmp_path, "")
    (tmp_path / "packs" / "mine").rename(tmp_path / "packs" / "clocks v2.1")
    with opened(tmp_path, "mine") as store:
        assert store.packs.enabled() == ["mine"]
        there = available(store.settings.packs.folders)
        assert "mine" in there
        assert "clocks v2.1" not in there
