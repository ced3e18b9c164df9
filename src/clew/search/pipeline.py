"""A search, as a table of contents: understand ▸ retrieve ▸ rank ▸ answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

import numpy as np

from clew.errors import InputError
from clew.search.answer.blocks import RetrievalResult, after, answering_line, assemble
from clew.search.answer.hits import distinct_hits, without_unsaid
from clew.search.answer.standing import by_standing, named_in_part, stated_block, stated_by_hand
from clew.search.channels import (
    Ranking,
    in_turn,
    reciprocal_rank_fusion,
    weighted_fusion,
)
from clew.search.hierarchy import (
    asked_sections,
    by_hierarchy,
    by_outline,
    declared,
    rank_parents,
)
from clew.search.periods import (
    asks_what_happened,
    dated_within,
    describe_time,
    in_period,
    keep_to_period,
    rank_weighted,
    read_asked_time,
    with_earlier,
)
from clew.search.question import compared_sides, is_look_up
from clew.search.session import MAX_QUESTION, QuerySession, RecentlyUsed
from clew.search.words import exact_first, holding_all, holding_all_first, read_as_spelt
from clew.types import LEAST_LIKELY, UNLIKELY, Fusion, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.ports import Embedder, VectorIndex
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.types import Hit, Ids, Scores, Vector, Vectors

    Find = Callable[[QuerySession], RetrievalResult]


logger = logging.getLogger("clew")

UNANSWERED = "nothing found that answers this; the nearest are given"
SURE = (0.9, 0.6)
"""Share of passages with every word of what is looked up that answer: of those that come first, and
of the others. By the open half of `benchmarks/real` (24 of 27, 53 of 86); the half held out: 32 of
34, 69 of 96."""


def ask(resources: SearchResources, question: str, options: Options) -> SearchResult:
    """The passages that answer the question, best first, and their context.

    Understand ▸ retrieve ▸ rank ▸ answer.
    """
    session, there_is = _understand(resources, question, options)
    name, reason = _choose(session, there_is)
    strategy = find_strategy(name)
    found = RetrievalResult(ranking=Ranking.empty())
    if there_is:
        moment = options.as_of
        if moment and (first := resources.store.first_recorded()) and moment < first:
            session.note(
                f"the store knows nothing from before {first:%Y-%m-%d}; it says what it knows now"
                f" of {moment:%Y-%m-%d}"
            )
        found = _rank(session, name, strategy.find(session))
    hits = _judge(session, strategy, found, there_is)
    if not hits and not len(resources.store.chunk_ids()):
        session.note(
            "the store is empty; index something first: `clew index PATH` or ingest_document"
        )
    result = replace(
        _answer(session, found, hits, there_is),
        query=question,
        strategy=name,
        reason=reason,
        overview=there_is
        and (found.tells or strategy.finds not in EVERYWHERE or asks_what_happened(session)),
    )
    result = replace(result, answering=answering_line(result))
    # What is sure of an earlier text is not known.
    if hits and not result.answered and not any(hit.chunk.version for hit in hits):
        remark = UNLIKELY if result.reached else UNANSWERED
        result = replace(result, notes=(remark, *result.notes))
    logger.info(
        "search strategy=%s hits=%d tokens=%d ms=%s",
        result.strategy,
        len(result.hits),
        result.context.tokens,
        {name: round(spent, 1) for name, spent in result.timings_ms.items()},
    )
    return result


# --- understand ------------------------------------------------------------------------------


def _understand(
    resources: SearchResources, question: str, options: Options
) -> tuple[QuerySession, bool]:
    """The question as it is meant, and whether there is a question and a store to ask.

    What is missing is in the notes.
    """
    session = QuerySession.start(resources, question[:MAX_QUESTION], options)
    session = read_as_spelt(session)
    read_asked_time(session)
    keep_to_period(session)
    if len(session.question) == MAX_QUESTION:
        session.note(f"only the first {MAX_QUESTION} characters of the question were read")
    missing = ""
    if not session.question.strip() and options.vector is None:
        missing = "the question is empty"
    elif session.allowed is not None and not len(session.allowed) and not session.earlier:
        missing = "no passage meets the filters"
    if missing:
        session.note(missing)
    elif resources.settings.llm.entities:
        from clew.search.rerank import read_named_entities

        read_named_entities(session)
    return session, not missing


def _choose(session: QuerySession, there_is: bool) -> tuple[str, str]:
    """The strategy and the reason for it; `there_is` anything to choose by."""
    asked = session.options.strategy
    if asked != AUTO:
        find_strategy(asked)
        for sentence in without_effect(session.options, asked):
            raise InputError(f"{sentence}. Leave it out, or name another strategy")
        return asked, "asked for"
    if not there_is:
        return "graph", "there is nothing to choose by"
    chosen = session.route
    session.note(*([chosen.note] if chosen.note else []))
    session.note(*without_effect(session.options, chosen.strategy))
    return chosen.strategy, chosen.reason


# --- rank ------------------------------------------------------------------------------------


def _rank(session: QuerySession, name: str, found: RetrievalResult) -> RetrievalResult:
    """What was found, after the steps that options and settings enable.

    Behind what the question names exactly; with the passages of earlier versions.
    """
    options, settings = session.options, session.resources.settings
    by_setting = options.rerank and settings.llm.filter
    wanted = (
        options.rerank and session.resources.reranker is not None,
        by_setting if options.model_filter is None else options.model_filter,
        bool(settings.usage.weight),
        bool(settings.boost.fields or settings.boost.importance),
    )
    if any(wanted):
        from clew.search.rerank import boosted, by_usage, filtered, reranked

        for step, is_wanted in zip((reranked, filtered, by_usage, boosted), wanted, strict=True):
            found = step(session, found) if is_wanted else found
    finds = find_strategy(name).finds
    if finds == "exact":
        found = exact_first(session, found)
    return with_earlier(session, found, name) if finds in EVERYWHERE else found


# --- answer ----------------------------------------------------------------------------------


def _judge(
    session: QuerySession, strategy: Strategy, found: RetrievalResult, there_is: bool
) -> tuple[Hit, ...]:
    """The hits, with how sure each is; where the strategy did not judge, only if that is asked."""
    options = session.options
    asked = options.strategy == AUTO or "min_confidence" in options.given
    if there_is and not session.confidences and asked and strategy.finds in ("passages", "exact"):
        session.judge()
    looked_up = is_look_up(session.question) or asks_what_happened(session)
    if session.confidences and looked_up:
        _be_sure(session, found)
    with session.timings.step("expand"):
        hits = distinct_hits(session, found)
        if any(hit.chunk.told_of for hit in hits):
            # What holds at the time that is asked about first, each with its standing.
            standing, standings = by_standing(session, found)
            hits = tuple(
                replace(hit, chunk=replace(hit.chunk, standing=standings.get(hit.chunk.id)))
                for hit in distinct_hits(session, standing)
            )
    if session.confidences and not looked_up:
        with session.timings.step("confidence"):
            hits = without_unsaid(session, hits)
    return hits


def _be_sure(session: QuerySession, found: RetrievalResult) -> None:
    """Raise the confidence in passages that hold all that is looked up, or are named exactly.

    So are those of the time of which is asked what happened. The ranker learned from questions in
    sentences, and a mere name or date tells it too little.
    """
    ids = found.ranking.ids[: session.options.limit]
    holding = {*holding_all(session).tolist(), *found.scores.get("exact", {})}
    if asks_what_happened(session):
        holding.update(ids[dated_within(session, ids)].tolist())
    for place, id_ in enumerate(ids.tolist()):
        if id_ in holding:
            least = SURE[min(place, 1)]
            session.confidences[id_] = max(session.confidences.get(id_, 0.0), least)


def _answer(
    session: QuerySession, found: RetrievalResult, hits: tuple[Hit, ...], there_is: bool
) -> SearchResult:
    """The hits with their context, the entities that were asked for, and the notes."""
    options, embedder = session.options, session.resources.embedder
    with session.timings.step("assemble"):
        in_part = named_in_part(session, hits)
        stated = stated_by_hand(session, in_part) if there_is else ()
        wanted = hits and options.context
        blocks = found.arrange(session, hits) if wanted else []
        if wanted and not any(block.kind in ("path", "subgraph") for block in blocks):
            blocks = [*stated_block(stated), *blocks]
        if not options.context_passages:
            blocks = [block for block in blocks if block.kind != "passage"]
        context = assemble(blocks, options.max_tokens, embedder.count_tokens, embedder.name)
    if context.left_out:
        session.note(f"{context.left_out} parts of the context did not fit into it")
    if context.is_cut:
        session.note("max_tokens has no room for the best part of the context, which is cut")
    names = session.records.names
    named = [names[s.entity_id] for s in session.known_seeds if s.entity_id in names]
    return SearchResult(
        query=session.question,
        strategy="",
        reason="",
        hits=hits,
        context=context,
        stated=stated,
        entities=(*named, *in_part.values()),
        temporal=describe_time(session, hits),
        timings_ms=session.timings.milliseconds,
        min_confidence=options.min_confidence,
        notes=tuple(session.notes),
    )


# Search before the embedding model is loaded: keywords and graph, no vectors.


NOTE = (
    "the embedding model is still being loaded: passages were found by words and ties, not by"
    " meaning; ask again in a few seconds"
)


def answer_by_keywords(
    resources: SearchResources, question: str, options: Options, note: str = NOTE
) -> SearchResult:
    """What can be found without the model; the notes say so."""
    if options.strategy == "vector":
        options = replace(options, strategy="keyword")
    without = cast("SearchResources", _WithoutModel(resources))
    result = ask(without, question, replace(options, min_confidence=0.0))
    # How sure an answer is follows from its meaning, too.
    hits = tuple(replace(hit, confidence=None) for hit in result.hits)
    return replace(result, hits=hits, notes=(note, *result.notes))


class _WithoutModel:
    """`SearchResources` without the embedding model: no passage is near to any question."""

    reader = reranker = None
    """They may have to be loaded, too."""

    def __init__(self, resources: SearchResources) -> None:
        self._resources = resources
        self.embedder = _NotYet(resources.embedder)
        self.vectors = self.text_vectors = _NothingNear(resources.vectors)
        # What is embedded here must not be taken for the model's.
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(1)

    def __getattr__(self, name: str) -> object:
        return getattr(self._resources, name)


@dataclass(frozen=True, slots=True)
class _NothingNear:
    index: VectorIndex

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        return self.index.vectors(chunk_ids)


class _NotYet:
    """An embedder whose vectors are all zero; its tokens are the model's."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension = embedder.name, embedder.dimension
        self.count_tokens = embedder.count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), self.dimension), np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.zeros(self.dimension, np.float32)


# The strategies, side by side: each a short composition of the shared steps.


FROM_EACH_SIDE = 1
"""Passages of each side of a comparison that lead."""


def vector(session: QuerySession) -> RetrievalResult:
    """The passages whose meaning is nearest to the question's."""
    return RetrievalResult(ranking=session.channels.by_vector())


def keyword(session: QuerySession) -> RetrievalResult:
    """The passages that hold the question's words, the rare ones above all (BM25)."""
    return RetrievalResult(ranking=session.channels.by_keyword())


def hybrid(session: QuerySession) -> RetrievalResult:
    """Both of these, fused by rank, or by weight: α of the words, the rest of the meaning.

    Fused by rank, passages with every word of what is looked up go first.
    """
    ranking = _fuse(session)
    if session.options.fusion == "rrf" and is_look_up(session.question):
        ranking = holding_all_first(session, ranking)
    return RetrievalResult(ranking=ranking)


def graph(session: QuerySession) -> RetrievalResult:
    """The passages that the question's entities lead to, ranked on all the evidence."""
    if not session.snapshot.size:
        return RetrievalResult(ranking=_fuse(session))
    ranking = session.rank(session.gather()).then(_fuse(session))
    best = []
    for side in compared_sides(session.question):
        from clew.search.around import defining

        # What is best for the whole question may all speak of one side, which itself asks nothing
        # that could be read.
        unread = replace(session.options, fast=True)
        part = replace(session.for_question(side), options=unread)
        ranked = part.rank(part.gather())
        best.append(ranked.led_by(defining(part, ranked)).ids[:FROM_EACH_SIDE])
        session.trust(part)
    return RetrievalResult(ranking=ranking.led_by(in_turn(best)))


def parent_child(session: QuerySession) -> RetrievalResult:
    """The parents whose children answer together; the children tell which they are.

    The sections that the question names ("section 4.2", "the chapter on …") go first.
    """
    found = rank_parents(session, session.channels.by_vector())
    return replace(found, ranking=found.ranking.led_by(asked_sections(session)))


def topic(session: QuerySession) -> RetrievalResult:
    """The passages on the topics nearest to the question, by topic and by theme.

    Where nobody asked for this strategy by its name, those that are likely to answer go first, as
    `graph` has them: what is asked about need not be a topic of the store.
    """
    from clew.search.reports import by_topics

    found = by_topics(session)
    if session.options.strategy != AUTO:
        return found
    ids = graph(session).ranking.ids
    sure = np.array([session.confidences.get(id_, 0.0) for id_ in ids.tolist()])
    return replace(found, ranking=found.ranking.led_by(ids[sure >= LEAST_LIKELY]))


def multi_hop(session: QuerySession) -> RetrievalResult:
    """What `graph` finds, and the paths between the question's entities, fewest hops first.

    The passages that state the first path are among the hits, behind the first third at most.
    """
    from clew.search.around import paths_between

    found = graph(session)
    paths, stating = paths_between(session)
    limit = session.options.limit
    ranking = found.ranking.with_among(stating, max(limit - len(stating), -(-limit // 3)))
    return replace(found, ranking=ranking, arrange=after(paths))


def hierarchical(session: QuerySession) -> RetrievalResult:
    """One layer of a declared hierarchy, or of the documents' outline, with all above and below."""
    hierarchy = declared(session)
    return by_hierarchy(session, hierarchy) if hierarchy else by_outline(session)


def temporal(session: QuerySession) -> RetrievalResult:
    """What `graph` finds within the period that the question names, told in order of time."""
    return in_period(session, graph)


def global_(session: QuerySession) -> RetrievalResult:
    """The reports of the communities nearest to the question, and their passages."""
    from clew.search.reports import from_reports, relevant_communities

    return from_reports(session, relevant_communities(session))


def local(session: QuerySession) -> RetrievalResult:
    """The entities nearest to the question: their neighbours, relations and passages."""
    from clew.search.around import nearest_entities, search_neighbourhood

    return search_neighbourhood(session, nearest_entities(session))


def weighted(session: QuerySession) -> RetrievalResult:
    """Meaning, distance in the graph and time, each with its weight."""
    return rank_weighted(session)


def drift(session: QuerySession) -> RetrievalResult:
    """`global` first, then `local` around what it found."""
    from clew.search.reports import drift

    return drift(session)


EVERYWHERE = frozenset({"passages", "exact", "parents"})
"""What strategies find among which passages of earlier versions have a place: not overviews."""


class Strategy(NamedTuple):
    """A line of the table."""

    find: Find
    finds: Literal["passages", "exact", "parents", "overview"]
    """Passages that answer, those that the question names exactly first (`retrieval.exact`) or not;
    the parents of such; or what gives an overview."""
    options: tuple[str, ...] = ()
    """Those that have an effect on it and not on every strategy."""


STRATEGIES: Mapping[str, Strategy] = {
    "vector": Strategy(vector, "passages"),
    "keyword": Strategy(keyword, "exact"),
    "hybrid": Strategy(hybrid, "exact", ("fusion", "alpha")),
    "graph": Strategy(graph, "exact"),
    "parent_child": Strategy(parent_child, "parents"),
    "topic": Strategy(topic, "overview"),
    "multi_hop": Strategy(multi_hop, "exact", ("max_hops",)),
    "hierarchical": Strategy(hierarchical, "overview", ("layer", "hierarchy")),
    "temporal": Strategy(temporal, "exact"),
    "global": Strategy(global_, "overview", ("level",)),
    "local": Strategy(local, "exact", ("max_hops",)),
    "weighted": Strategy(weighted, "passages", ("max_hops", "weights")),
    "drift": Strategy(drift, "overview", ("max_hops", "level")),
}
OPTIONS = ("max_hops", "fusion", "alpha", "weights", "layer", "hierarchy", "level")
"""Options that only some strategies use, in the order in which they are told of."""
AUTO = "auto"
"""Lets the router choose one of these."""


def known_strategies() -> list[str]:
    """Names of all strategies, those of plugins at the end."""
    from clew.hookspecs import named  # the core's own need no plugin

    return list(dict.fromkeys((*STRATEGIES, *named("strategies"))))


def find_strategy(name: str) -> Strategy:
    """The strategy of that name; raises `InputError` that lists them all for any other."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name not in (known := known_strategies()):
        raise InputError(f"unknown strategy {name!r}; expected one of {', '.join([*known, AUTO])}")
    from clew.hookspecs import named, there

    found: Strategy = there(named("strategies")[name][0])
    return found


def without_effect(options: Options, strategy: str) -> list[str]:
    """A sentence for each option that the caller gave and the strategy has no use for."""
    used_by: dict[str, list[str]] = {}
    for name, line in sorted(STRATEGIES.items()):
        for option in line.options:
            used_by.setdefault(option, []).append(name)
    own = find_strategy(strategy).options
    idle = [name for name in OPTIONS if name in options.given and name not in own]
    found = [
        f"{name} has no effect on the strategy {strategy}; it is for {', '.join(used_by[name])}"
        for name in idle
    ]
    if "alpha" in options.given and "alpha" not in idle and options.fusion != "weighted":
        found.append("alpha has no effect on the fusion rrf; it is for weighted")
    return found


def _fuse(session: QuerySession) -> Ranking:
    if session.options.fusion not in (known := get_args(Fusion)):
        raise InputError(
            f"unknown fusion {session.options.fusion!r}; expected {' or '.join(known)}"
        )
    by_vector, by_keyword = session.channels.both()
    if session.options.fusion == "weighted":
        return weighted_fusion(by_keyword, by_vector, session.alpha)
    return reciprocal_rank_fusion([by_vector, by_keyword])
