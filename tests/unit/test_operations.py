"""A tool is what its function declares: nothing of it is said a second time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.errors import InputError
from clew.operations.spec import (
    Call,
    Caller,
    Limits,
    Result,
    between,
    complete,
    input_schema,
    operation,
    shape,
)
from clew.testing.fakes import HashEmbedder


class Stop(TypedDict):
    """A place on the way."""

    name: Annotated[str, "Its name.", Limits(max_length=20)]
    minutes: Annotated[int, "Stay", Limits(minimum=0, maximum=60, default=5)]


@operation("A way", shape(stops="array"), rights="write", idempotent=True, http="POST /ways 201")
def plan_way(
    call: Call,
    start: Annotated[str, "Where it starts."],
    stops: Annotated[Sequence[Stop], "Up to 3.", Limits(max_items=3)] = (),
    by: Annotated[Literal["foot", "boat"], "foot or boat."] = "foot",
    pace: Annotated[float, "Of a walker", between(0, 1)] = 0.5,
    nights: Annotated[int | None, "Nights; default none", between(1, 9)] = None,
    tags: Annotated[Sequence[Literal["wet", "dry"]], "Any of them."] = (),
    ids: Annotated[Sequence[int], "Of maps."] = (),
    quiet: Annotated[bool, "Without a word."] = False,
    more: Annotated[Mapping[str, Any] | None, "Whatever else."] = None,
) -> Result:
    """A way from a place,
    with its stops.

    Each is named once.
    """
    return {"start": start, "stops": stops, "by": by, "pace": pace, "nights": nights}


def test_a_tool_says_what_its_function_declares() -> None:
    told = {
        "name": "plan_way",
        "title": "A way",
        "description": "A way from a place, with its stops. Each is named once.",
        "scope": "write",
        "read_only": False,
        "http": "POST /ways 201",
    }
    assert {name: getattr(plan_way, name) for name in told} == told
    assert input_schema(plan_way.parameters) == {
        "type": "object",
        "properties": {
            "start": {"type": "string", "description": "Where it starts."},
            "stops": {
                **optional("array", "Up to 3."),
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Its name."},
                        "minutes": {
                            **optional("integer", "Stay, 0 to 60. Default 5.", 5),
                            "minimum": 0,
                            "maximum": 60,
                        },
                    },
                    "required": ["name"],
                },
            },
            "by": {
                **optional("string", "foot or boat. Default foot.", "foot"),
                "enum": ["foot", "boat", None],
            },
            "pace": {
                **optional("number", "Of a walker, 0 to 1. Default 0.5.", 0.5),
                "minimum": 0,
                "maximum": 1,
            },
            "nights": {
                **optional("integer", "Nights; default none, 1 to 9."),
                "minimum": 1,
                "maximum": 9,
            },
            "tags": {
                **optional("array", "Any of them."),
                "items": {"type": "string", "enum": ["wet", "dry"]},
            },
            "ids": {**optional("array", "Of maps."), "items": {"type": "integer"}},
            "quiet": optional("boolean", "Without a word. Default false.", False),
            "more": optional("object", "Whatever else."),
        },
        "required": ["start"],
    }


def optional(kind: str, description: str, *default: object) -> dict[str, object]:
    """The schema of what need not be given."""
    said = {"type": [kind, "null"], "description": description}
    return {**said, **({"default": default[0]} if default else {})}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with clew.open(tmp_path_factory.mktemp("way"), embedder=HashEmbedder()) as engine:
        yield Call(engine=engine, caller=Caller())


@given(
    by=st.sampled_from(["foot", "boat", "cart", None]),
    pace=st.floats(allow_nan=False) | st.none(),
    stops=st.none() | st.lists(st.fixed_dictionaries({"name": st.text(max_size=25)}), max_size=4),
)
def test_what_is_declared_reaches_the_function_or_is_refused(
    call: Call, by: str | None, pace: float | None, stops: list[dict[str, str]] | None
) -> None:
    asked = {"start": "Vell", "by": by, "pace": pace, "stops": stops}
    good = by != "cart" and (pace is None or 0 <= pace <= 1)
    good = good and len(stops or ()) <= 3
    good = good and all(len(s["name"]) <= 20 for s in stops or ())
    try:
        result = plan_way.run(call, complete("plan_way", plan_way.parameters, asked))
    except InputError:
        assert not good
        return
    assert good
    assert result == {
        "start": "Vell",
        "stops": () if stops is None else [{**stop, "minutes": 5} for stop in stops],
        "by": by or "foot",
        "pace": 0.5 if pace is None else pace,
        "nights": None,
    }


def _bytes(call: Call, data: Annotated[bytes, "Data."]) -> Result:
    """Take bytes."""
    return {}


def _bare(call: Call, name: str) -> Result:
    """Take a name."""
    return {}


def _set(call: Call, names: Annotated[set[str], "Names."]) -> Result:
    """Take names."""
    return {}


def _objects(call: Call, items: Annotated[Sequence[dict[str, str]], "Items."]) -> Result:
    """Take items."""
    return {}


@pytest.mark.parametrize("function", [_bytes, _bare, _set, _objects])
def test_a_declaration_that_no_client_could_read_is_refused_by_name(function: Any) -> None:  # noqa: ANN401
    with pytest.raises(
        TypeError, match=r"(data|names?|items) is declared as .* expected Annotated"
    ):
        operation("Odd", shape())(function)
