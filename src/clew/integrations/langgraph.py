"""LangGraph: a store of long-term memory, whose items are found by meaning and by their ties.

from clew.integrations.langgraph import ClewStore

graph = builder.compile(store=ClewStore("memory.clew"))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clew

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
    )
except ModuleNotFoundError as error:
    raise clew.errors.MissingExtraError("clew.integrations.langgraph", "langgraph") from error

if TYPE_CHECKING:
    from clew import Clew, DocumentInfo

__all__ = ["ClewStore"]

_ROOT = {"field": "meta.within", "operator": "==", "value": "[]"}
"""Items, of all documents that the store may hold."""
_OPERATORS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NO_TEXT = "-"
"""The text of an item that no query is to find: a document has one."""


class ClewStore(BaseStore):
    """Keeps the items of LangGraph in a store of Clew, each as a document.

    An item is found by the texts of its fields. Filters are those of LangGraph: equality, nested
    objects, `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, the last four of numbers. Without a query,
    items come in the order of their namespaces and keys. Other documents of the store are left
    alone. Items have no TTL.

    Args:
        store: An open store, or the path of one, which is opened.
        fields: Paths to the texts by which items are found, as LangGraph writes them, such as
            `memory` or `turns[*].text`; `$`: all fields by their names.
        strategy: How items are found; see `Clew.search`. A score is the cosine where it is
            `vector`, else it compares within one result alone.
        options: Those of `clew.open`, such as `namespace` or `embedder`, where `store` is a path.

    Raises:
        ClewError: As `clew.open` does.

    Example:
        >>> memory = ClewStore("memory.clew")
        >>> memory.put(("users", "anna"), "1", {"text": "Anna is allergic to nuts."})
        >>> [found.key for found in memory.search(("users",), query="What must Anna not eat?")]
        ['1']
    """

    # The base has slots.
    __slots__ = ("fields", "store", "strategy")

    def __init__(
        self,
        store: Clew | str | Path,
        *,
        fields: Sequence[str] = ("$",),
        strategy: str = "auto",
        **options: Any,  # noqa: ANN401 - those of `clew.open`
    ) -> None:
        self.store = clew.open(store, **options) if isinstance(store, str | Path) else store
        self.fields, self.strategy = fields, strategy

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations at once; what reads sees the store as it was before.

        Args:
            ops: The operations; of several that put one item, the last one counts.

        Returns:
            The result of each, in order.

        Raises:
            InputError: An operation or an operator is unknown.
            ClewError: As `Clew.search` and `Clew.add_documents` do.
        """
        given = list(ops)
        results = [self._read(op) for op in given]
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        gone = [_source(*at) for at, op in puts.items() if op.value is None]
        self.store.delete([name for name in gone if name in self.store])
        self.store.add_documents(self._made(op) for op in puts.values() if op.value is not None)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same in a thread, to be awaited."""
        return await asyncio.to_thread(self.batch, ops)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            source = _source(op.namespace, op.key)
            return Item(**_parts(self.store.named(source))) if source in self.store else None
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise clew.errors.InputError(f"{op!r:.80} is no operation of a LangGraph store")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        where = [
            {**_ROOT, "value": json.dumps(op.namespace_prefix)},
            *_conditions(op.filter or {}, "value"),
        ]
        if not op.query:
            found = self.store.list(where)[op.offset : end]
            return [SearchItem(**_parts(one)) for one in found]
        searched = {"field": "meta.searched", "operator": "==", "value": True}
        options: Any = {"limit": end, "per_document": 1, "strategy": self.strategy}
        hits = self.store.search(op.query, where=[*where, searched], **options).hits
        return [
            SearchItem(**_parts(self.store.named(hit.chunk.document_id)), score=hit.score)
            for hit in hits[op.offset :]
        ]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {tuple(one.metadata["namespace"]) for one in self.store.list(_ROOT)}
        conditions = op.match_conditions or ()
        fitting = {one[: op.max_depth] for one in known if all(_fits(c, one) for c in conditions)}
        return sorted(fitting)[op.offset : op.offset + op.limit]

    def _made(self, op: PutOp) -> clew.Document:
        """The document of an item."""
        source, now = _source(op.namespace, op.key), datetime.now(UTC).isoformat()
        value = dict(op.value or {})
        text = "\n".join(_texts(value, self.fields if op.index is None else op.index or ()))
        before = self.store.named(source).metadata if source in self.store else {}
        return clew.Document(
            source=source,
            text=text if text.strip() else _NO_TEXT,
            metadata={
                "namespace": list(op.namespace),
                "within": [json.dumps(op.namespace[:n]) for n in range(len(op.namespace) + 1)],
                "key": op.key,
                "item": value,
                "searched": bool(text.strip()),
                "made": before.get("made", now),
                "changed": now,
                **dict(_leaves(value, "value")),
            },
        )


def _source(namespace: Sequence[str], key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False)


def _parts(one: DocumentInfo) -> dict[str, Any]:
    """What an item is made of."""
    return {
        "namespace": tuple(one.metadata["namespace"]),
        "key": one.metadata["key"],
        "value": one.metadata["item"],
        "created_at": one.metadata["made"],
        "updated_at": one.metadata["changed"],
    }


def _texts(value: Mapping[str, Any], fields: Iterable[str]) -> Iterator[str]:
    for field in fields:
        if field == "$":
            for name in value:
                yield from (f"{name}: {text}" for text in get_text_at_path(value, [name]))
        else:
            yield from get_text_at_path(value, field)


# Filters of LangGraph tell 7 from "7" and compare lists as a whole. So texts and lists are stored
# for filters as their JSON, and each leaf under its JSON pointer.


def _leaf(value: object) -> object:
    return value if isinstance(value, bool | int | float) else json.dumps(value, sort_keys=True)


def _under(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


def _leaves(value: Mapping[str, Any], path: str) -> Iterator[tuple[str, object]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _leaves(inner, _under(path, name))
        elif inner is not None:
            yield _under(path, name), _leaf(inner)


def _conditions(wanted: Mapping[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """What a filter of LangGraph says, as filters of Clew."""
    for name, value in wanted.items():
        if name in _OPERATORS:
            yield {"field": f"meta.{path}", "operator": _OPERATORS[name], "value": float(value)}
        elif name in ("$eq", "$ne"):
            wanted_leaf = None if value is None else _leaf(value)
            equal = {"field": f"meta.{path}", "operator": "==", "value": wanted_leaf}
            yield equal if name == "$eq" else {"operator": "NOT", "conditions": [equal]}
        elif name.startswith("$"):
            raise clew.errors.InputError(
                f"unknown operator {name!r}; expected $eq, $ne, {', '.join(_OPERATORS)}"
            )
        else:
            inner = value if isinstance(value, Mapping) else {"$eq": value}
            yield from _conditions(inner, _under(path, name))


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    wanted, end = condition.path, len(condition.path)
    if len(namespace) < end:
        return False
    part = namespace[:end] if condition.match_type == "prefix" else namespace[-end:]
    return all(one in ("*", label) for one, label in zip(wanted, part, strict=False))
