"""Settings and options."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperGroup

from clew.cli.app import app
from clew.errors import InputError
from clew.operations.toolbox import OPERATIONS
from clew.ports import Embedder
from clew.search.options import Options
from clew.testing.fakes import HashEmbedder
from clew.types import Period

# --- options


NOW = datetime(2024, 1, 1, tzinfo=UTC)


def _options(**values: object) -> Options:
    defaults: dict[str, Any] = {"strategy": "graph", "limit": 10, "max_tokens": 100, "now": NOW}
    return Options(**{**defaults, **values})


def test_a_period_given_by_hand_may_be_open() -> None:
    assert _options().period is None
    assert _options(since=NOW).period == Period(start=NOW, end=None)
    assert _options(until=NOW).period == Period(start=None, end=NOW)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit": 0}, r"limit 0 cannot be; expected at least 1"),
        ({"max_tokens": 0}, r"max_tokens 0 cannot be"),
        ({"max_hops": 6}, r"max_hops 6 cannot be; expected 1 to 5"),
        ({"alpha": 1.5}, r"alpha 1.5 cannot be; expected 0 to 1"),
        ({"min_confidence": float("nan")}, r"min_confidence nan cannot be; expected 0 to 1"),
        ({"weights": (float("nan"), 0, 0)}, r"weights nan cannot be; expected at least 0"),
        ({"level": -1}, r"level -1 cannot be"),
        ({"weights": (0.5, -0.1, 0.6)}, r"weights -0.1 cannot be"),
        ({"since": NOW, "until": NOW}, r"is not before until"),
    ],
)
def test_values_that_cannot_be_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _options(**values)


# --- The command line and the tools call the same thing by the same name.


ARGUMENTS = {"question": "query", "name": "entity", "document": "document"}
"""What a command takes without a name, and the parameter that is."""
OF_EVERY_COMMAND = {"store", "namespace", "json", "verbose", "help"}
TO_FIT = {"cursor", "max_tokens"}
"""A tool's result has to fit into a window; a terminal shows all of it."""
PAIRS: dict[str, tuple[str, set[str], set[str]]] = {
    # By tool: the command, what only the tool has, what only the command has.
    "query_documents": (
        "search",
        set(),
        # What one strategy takes, and how it is printed.
        {"alpha", "fast", "fusion", "hierarchy", "layer", "level", "temporal"}
        | {"citations", "context", "explain"},
    ),
    "find_paths": ("path", set(), set()),
    "entity_timeline": ("timeline", set(), set()),
    "relevant_subgraph": ("subgraph", set(), {"output"}),
    "list_communities": ("communities", set(), set()),
    "list_documents": ("documents", {"limit"}, set()),
    "get_document": ("show", {"document"}, {"entity", "text", "versions"}),
    "audit": ("audit", set(), set()),
}


def options_of(command: str) -> set[str]:
    """Names of a command's options, of those with several every one, and of its arguments."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    found = set()
    for parameter in group.commands[command].params:
        if parameter.param_type_name == "argument":
            found.add(ARGUMENTS.get(parameter.name or "", parameter.name or ""))
        else:
            found |= {o.lstrip("-").replace("-", "_") for o in parameter.opts if o[:2] == "--"}
    return found - OF_EVERY_COMMAND


@pytest.mark.parametrize("tool", PAIRS)
def test_what_both_take_has_one_name(tool: str) -> None:
    command, tool_alone, command_alone = PAIRS[tool]
    (parameters,) = [{p.name for p in t.parameters} - TO_FIT for t in OPERATIONS if t.name == tool]
    options = options_of(command) - TO_FIT
    if {"limit", "top_k"} <= options and not {"limit", "top_k"} <= parameters:
        options -= {"limit", "top_k"} - parameters  # one option with two names
    assert parameters - options == tool_alone
    assert options - parameters == command_alone


# --- fakes


@given(st.lists(st.text(), max_size=5))
def test_vectors_are_finite_and_of_unit_length(texts: list[str]) -> None:
    embedder: Embedder = HashEmbedder()
    vectors = embedder.embed_documents(texts)

    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(embedder.embed_query(text), vector)


def test_terms_that_cancel_each_other_out_leave_no_zero_vector() -> None:
    embedder = HashEmbedder(dimension=1)

    assert {float(embedder.embed_query(f"alpha word{i}")[0]) for i in range(50)} <= {-1.0, 1.0}
