"""A constitution: values, the principles that they define, the goals that these guide."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.hookspecs import Pack
from clew.plugins.constitution.reading import (
    ENTITY_TYPES,
    RELATION_TYPES,
    constitution_structure,
    read_csv,
    read_json,
    read_markdown,
    read_yaml,
)


def tools() -> Sequence[object]:
    """The tools, imported when the first is asked for."""
    from clew.plugins.constitution.tools import TOOLS

    return TOOLS


PACK = Pack(
    name="constitution",
    title="Constitution",
    description="Values, principles and goals, how they hang together, and what is said of them.",
    entity_types=ENTITY_TYPES,
    relation_types=RELATION_TYPES,
    hierarchies=("value -defines-> principle -guides-> goal",),
    readers={
        ".yaml": read_yaml,
        ".yml": read_yaml,
        ".json": read_json,
        ".md": read_markdown,
        ".csv": read_csv,
    },
    structures=(constitution_structure,),
    tools=tools,
    prompts={
        "extract": "A value is what matters, such as privacy; a principle is a rule that follows"
        " from it; a goal is what is done for a principle. Name each by the words that say it in"
        " the passage: principles and goals with their verb, and with what negates or limits it."
    },
    questions=Path(__file__).parent / "questions.jsonl",
)
