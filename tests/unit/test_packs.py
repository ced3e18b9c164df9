"""Packs: what they declare, and what a server offers of them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from clew.errors import UnreadableError
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.mcp.engines import Engines
from clew.plugins.constitution.pack import PACK
from clew.plugins.constitution.reading import constitution_structure
from clew.plugins.personal.tools import TOOLS as PERSONAL
from clew.settings import LimitSettings, ReadSettings
from clew.tools.spec import Caller
from clew.tools.toolbox import OPERATIONS
from tests.unit.mcp_tools import engine_in, settings_for

# --- The tools of packs as servers and the command line offer them.


NAMES = {tool.name for tool in PERSONAL}


def offered(folder: Path, profile: str, namespace: str, caller: Caller | None = None) -> set[str]:
    """Names of the tools of the pack that a server of that folder offers."""
    settings = settings_for(folder, profile=profile)
    with engine_in(folder) as first, closing(Engines(settings, OPERATIONS, first)) as engines:
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


def elements(found: ReadResult | None) -> dict[str, tuple[str, dict[str, object]]]:
    assert found is not None
    assert found.skipped == ()
    kept = ("priority", "weight", "status")
    return {
        one.title: (
            one.metadata["entity_type"],
            {k: v for k, v in one.metadata.items() if k in kept},
        )
        for one in found.documents
    }


def relations(found: ReadResult | None) -> dict[tuple[str, str, str], float]:
    assert found is not None
    return {
        (one.head, one.relation_type, one.tail): one.confidence
        for document in found.documents
        for one in constitution_structure(document).statements
    }


def test_every_format_says_the_same() -> None:
    texts = {
        "a.yaml": yaml.safe_dump(CONSTITUTION, sort_keys=False),
        "a.json": json.dumps(CONSTITUTION, indent="\t"),
        "a.md": OUTLINE,
        "a.csv": TABLE,
    }
    found = {name: read(name, text) for name, text in texts.items()}

    wanted = {
        "Honesty": ("value", {"priority": 9}),
        "Say what is known": ("principle", {"weight": 0.8}),
        "Show error bars": ("goal", {"status": "active"}),
        "Be brief": ("goal", {"status": "proposed"}),
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
    assert relations(found["a.csv"])["Say what is known", "guides", "Show error bars"] == 0.7


def test_evidence_of_each_relation_stands_in_the_text() -> None:
    found = read("a.md", OUTLINE)
    assert found is not None

    for document in found.documents:
        for one in constitution_structure(document).statements:
            assert one.tail in document.text[one.start : one.end]


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
    assert {document.title for document in found.documents} == kept
    (skipped,) = found.skipped
    assert skipped.reason.startswith(f"line {line}: ")
    assert reason in skipped.reason


def test_a_circle_loses_the_step_that_closes_it_alone() -> None:
    found = read(
        "a.yaml", "values:\n- name: A\n  defines: [B]\nprinciples:\n- name: B\n  defines: [A]\n"
    )

    assert set(relations(found)) == {("A", "defines", "B")}


def test_a_broken_file_is_named_by_its_line() -> None:
    with pytest.raises(UnreadableError, match=r"line 4"):
        read("a.yaml", "values:\n- name: A\n  priority: [9\n- name: B\n")


def test_other_files_are_left_to_other_readers() -> None:
    assert read("a.yaml", "version: 2\ngoals: many\n") is None
    assert read("a.json", '{"goals": [1, 2], "name": "x"}') is None
    assert read("a.json", "{broken") is None
    assert read("a.md", "# A note\n\nValue: none\n") is None
    assert read("a.csv", "name,price\nA,2\n") is None


def test_yaml_that_repeats_itself_is_bounded() -> None:
    inner = "  - &a0 {name: N}\n"
    inner += "".join(
        f"  - &a{n} {{name: N{n}, goals: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9)
    )

    with pytest.raises(UnreadableError, match="elements"):
        read("a.yaml", f"principles:\n{inner}", LimitSettings(elements=1000))


def test_older_versions_are_kept_with_their_time() -> None:
    found = read(
        "a.yaml",
        "values:\n- name: Privacy\n  since: 2023-01-01\n  description: New.\n  versions:\n"
        "  - {version: 1, since: 2019-01-01, until: 2023-01-01, description: Old.}\n",
    )

    assert found is not None
    texts = {one.title: (one.text.split("\n")[0], one.date) for one in found.documents}
    assert {title: text for title, (text, _) in texts.items()} == {
        "Privacy": "New.",
        "Privacy (version 1)": "Old.",
    }
    assert ("Privacy", "derived_from", "Privacy (version 1)") in relations(found)
    (old,) = (one for one in found.documents if one.title.endswith("1)"))
    assert old.created_at is not None
    assert old.created_at.year == 2019
