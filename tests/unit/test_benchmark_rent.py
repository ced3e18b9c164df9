"""The groups of rules that the benchmark leaves out are there, and can be."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from benchmarks.rent import Group, cost, definitions_and_uses, read_groups


@pytest.mark.parametrize("group", read_groups(), ids=lambda group: group.name)
def test_what_a_group_leaves_out_exists(group: Group) -> None:
    for at in group.off:
        module, _, path = at.partition(":")
        found = import_module(f"clew.{module}")
        for name in path.split("."):
            found = getattr(found, name)


def test_a_group_costs_what_nothing_else_reaches() -> None:
    definitions, uses = definitions_and_uses()
    groups = {group.name: group for group in read_groups()}
    named, described = (
        cost(groups[name], definitions, uses) for name in ("code_names", "described")
    )
    assert named > described > 0


def test_a_group_that_is_left_out_finds_nothing() -> None:
    program = (
        "from benchmarks.rent import leave_out; from tests.unit.test_extract import types;"
        "text = 'He directed \"The Wind in the Trees\" then.';"
        "before = types(text); leave_out('indexing.ner.known_terms:find_quoted', 'empty');"
        "assert 'work' in before.values() and 'work' not in types(text).values()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
