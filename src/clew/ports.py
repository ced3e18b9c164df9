"""What models and indexes must do, as small Protocols; each docstring is the specification.

`clew.testing.conformance` holds every implementation to these words. One score convention:
higher is better, the range is stated. Every method raises `StoreError` (or a kind of it) where
a back end fails, never its driver's own exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from clew.types import (
    Answer,
    AnswerMode,
    CharRange,
    Chunk,
    Document,
    ExtractedRelation,
    Extraction,
    Ids,
    Reading,
    Scores,
    SearchResult,
    Unread,
    Vector,
    Vectors,
)
from clew.types import Usage as Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel


# Documents, their times and uses, and finding them by words and by vectors.


class KeywordIndex(Protocol):
    """Chunks by the words that they hold; `save` and `delete` of the store keep it current."""

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """BM25 over context and text, for chunks that hold at least one term; above 0, best first.

        `terms` come from `clew.text.terms`; several with a space between them are one phrase: they
        must stand in a row. Ties go to the smaller id. `allowed` restricts the search itself, not
        its outcome. No terms, no hits.
        """


class VectorIndex(Protocol):
    """Chunks by nearness of their embedding."""

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """Cosine similarity, -1 to 1, best first; ties go to the smaller id."""

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """Embeddings of the chunks given, in that order. Unknown ids raise `StoreError`."""


class SyncedVectorIndex(VectorIndex, Protocol):
    """A `VectorIndex` that is derived from a store's embeddings and kept beside it.

    Whatever is lost of it is made again from the store, which is the truth: it may be deleted at
    any time, and a server that was down while documents were indexed catches up afterwards.
    """

    def refresh(self) -> None:
        """Take in what was saved and deleted since; cheap where nothing was.

        Raises `StoreUnavailableError` where its server cannot be reached.
        """

    def persist(self) -> None:
        """Bring it up to the store now, so that the next process need not."""

    def state(self) -> dict[str, Any]:
        """`backend`, `available`, `connected`, `version`, `points`, `problem`; never raises.

        `available`: what it needs is installed. `connected`: it can be reached now. `version` of
        the back end ("" unknown), `points`: vectors held of this namespace (None: unknown).
        `problem`: why it cannot be reached and what to do ("" where it can).
        """

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""


# What derived structures are built from.


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRow:
    """A chunk as derived structures read it."""

    chunk_id: int
    document_id: str
    ordinal: int
    text: str
    context: str
    sentences: tuple[tuple[int, int], ...]
    """Ranges in `text`."""
    language: str = ""
    """Its document's."""


@dataclass(frozen=True, slots=True)
class RelationRows:
    """All relations that are not retracted, by id, as derived structures read them."""

    ids: NDArray[np.int64]
    """(n,)"""
    heads: NDArray[np.int64]
    """(n,) entity ids"""
    tails: NDArray[np.int64]
    """(n,) entity ids"""
    weights: NDArray[np.float32]
    """(n,) 0 to 1"""
    chunks: NDArray[np.int64]
    """(n,) chunk ids; 0 where no text states it"""
    sentences: NDArray[np.int64]
    """(n,) ordinals within the chunk; -1 where no sentence states it"""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearbyQuery:
    """Which passages and which figures of a store a question needs."""

    chunk_ids: Sequence[int] = ()
    """Chunks that are wanted, each with those before and after it in its document."""
    keys: Sequence[str] = ()
    """Of names (`clew.text.entity_key`), whose entities are counted and followed."""
    entity_ids: Sequence[int] = ()
    """Entities whose chunks are wanted."""
    subjects: Sequence[int] = ()
    """Entities of which those chunks are wanted that are about them."""
    most: int
    """Mentions of an entity that is followed, at most."""
    known: Sequence[int] = ()
    """Chunks that are not wanted again."""
    counted: Sequence[int] = ()
    """Entities that are counted."""
    terms: Sequence[str] = ()
    """Terms (`clew.text.terms`) that are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearbyRows:
    """What a store knows of a `NearbyQuery`."""

    chunks: int
    """Of the whole store, one in a hundred more or fewer."""
    passages: Sequence[PassageRow]
    """By id."""
    mentions: NDArray[np.int64]
    """(n, 4) all mentions of these passages, as `SnapshotSource.mention_rows` has them."""
    entities: Mapping[str, int]
    """Entity id by key, for those keys that are an alias."""
    entity_counts: NDArray[np.int64]
    """(m, 4): entity id, its chunks, its mentions with two a chunk at most, chunks about it."""
    term_counts: Mapping[str, int]
    """Chunks that hold a term."""


# Entities, their names and relations; what is written by hand and by assistants.


FoundRelation = tuple[int, ExtractedRelation]
"""Id of a chunk, and a relation that it states."""


# Communities and topics: derived, and kept because they take long to make.


@dataclass(frozen=True, slots=True)
class Partition:
    """A hierarchy of communities, and the ties of their members when they were placed."""

    ids: Ids
    """(K,) sorted; an id is never used again for other members."""
    levels: NDArray[np.int64]
    """(K,) 0 is the coarsest."""
    parents: NDArray[np.int64]
    """(K,) ids of the communities that they are parts of; 0 for none."""
    members: NDArray[np.int64]
    """(n, 2): community id, entity id; sorted."""
    entity_ids: Ids
    """(E,) sorted; the entities that have ties."""
    neighbourhoods: NDArray[np.int64]
    """(E,) a hash of the neighbours of each."""
    strengths: NDArray[np.float32]
    """(E,) how strongly each was tied to them together."""
    moved: int
    """Entities that changed since all were placed at once."""
    next_id: int
    """The first id that no community has had."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportBasis:
    """What a report speaks of; where any of it is no more, the report is out of date."""

    entity_ids: tuple[int, ...]
    """The most central first."""
    entities: tuple[str, ...]
    """Their names."""
    sources: tuple[int, ...]
    """Ids of the chunks that its sentences stand in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunityReport:
    """What the texts say of a community."""

    community_id: int
    title: str
    summary: str
    basis: ReportBasis
    vector: Vector


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicSet:
    """All topics with their themes; numbers here are positions."""

    keys: tuple[str, ...]
    """(T,) distinct; a topic keeps its id as long as there is a topic of its key."""
    names: tuple[str, ...]
    """(T,)"""
    vectors: Vectors
    """(T, dim)"""
    themes: NDArray[np.int64]
    """(T,) positions of their themes."""
    documents: NDArray[np.int64]
    """(T,) documents that are on each."""
    chunks: NDArray[np.int64]
    """(n, 2): position of a topic, id of a chunk that is on it; sorted."""
    theme_titles: tuple[str, ...]
    """(themes,)"""
    theme_vectors: Vectors
    """(themes, dim)"""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunityChanges:
    """What bringing communities and topics up to a generation of the store changes."""

    expected: int
    """What `generation` said when the work began."""
    generation: int
    """What it is to say afterwards."""
    partition: Partition
    reports: Sequence[CommunityReport]
    """New ones; communities of the partition that are not among them keep theirs."""
    topics: TopicSet | None
    """None keeps those that there are."""


# What a language model made of stored passages, kept so that it can be taken back.


Enriched: TypeAlias = Literal["context", "extract"]
"""What was made of a passage: words that situate it in its document, or names and facts."""

Described: TypeAlias = Literal["documents", "entities", "topics", "reports", "links"]
"""What it writes: summaries, descriptions, names of topics and themes, community reports, and
whether entities that may be one are one."""

Enrichment: TypeAlias = Enriched | Described
"""What a language model can add: to passages, and beside what texts say by themselves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDescription:
    """What a language model says of something, or why it failed."""

    key: str
    """`kind:identity`, such as `entity:17`."""
    name: str
    """What it is of, for people."""
    title: str = ""
    text: str = ""
    """Its statements, each with the number of its source, `[1]`; where the model failed, sentences
    of the texts."""
    sources: tuple[str, ...] = ()
    """Public ids of the passages cited."""
    documents: tuple[str, ...] = ()
    """Ids of the documents that it is made of; it goes with any of them."""
    basis: str
    """Hash of what the model was sent; another one is asked about again."""
    reason: str = ""
    """Why the model failed; empty where it did not."""


# Durable jobs, and who wrote what.


ItemStatus = Literal["waiting", "done", "failed"]
RETRY = "retry:"
"""What the idempotency key of a job that tries another again begins with; its id follows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Work that outlives the process that it was asked of."""

    id: str
    kind: str
    status: Literal["queued", "running", "completed", "failed", "cancelled"]
    completed: int
    """Documents done, those that failed among them."""
    total: int | None
    """None until the documents have been counted."""
    failed: int
    """Documents that failed; `items` say why."""
    description: str
    created_at: datetime
    updated_at: datetime
    error: str
    """Why the job as a whole failed, or is being tried again; else empty."""
    owner: str
    """Of the lease; empty where nobody runs it."""
    attempts: int
    """Claims since anything was last settled, or since a runner let go of its own accord."""
    arguments: Mapping[str, Any]
    """Empty once all is done, since a text is not kept twice; and of a job that ended otherwise,
    where they are too long to be kept."""
    retried_by: str = ""
    """The job that tries again what this one did not do; else empty."""

    @property
    def ended(self) -> bool:
        """Whether nothing will be done any more."""
        return self.status in ("completed", "failed", "cancelled")

    @property
    def can_retry(self) -> bool:
        """Whether something is left to do that a new job can do; a file is to be sent again."""
        left = self.failed or self.status in ("failed", "cancelled")
        known = self.kind == "reindex" or (self.arguments and "data" not in self.arguments)
        return bool(left and known) and self.ended and not self.retried_by

    @property
    def retry_key(self) -> str:
        """Idempotency key of the job that tries this one again."""
        return f"{RETRY}{self.id}"

    @property
    def progress(self) -> float:
        """0 to 1."""
        if self.status == "completed":
            return 1.0
        return min(1.0, self.completed / self.total) if self.total else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class JobItem:
    """One document of a job."""

    ordinal: int
    name: str
    status: ItemStatus
    error: str
    """Why it failed; else empty."""


AuditOutcome = Literal["done", "nothing", "refused", "failed", "unknown"]
"""`nothing`: what was to go was not there; `refused`: what was asked cannot be, or was not agreed
to; `failed`: any other error; `unknown`: the process ended meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """A change that somebody asked a tool for, and what became of it."""

    id: int
    recorded_at: datetime
    caller: str
    tool: str
    subjects: Mapping[str, Any]
    """Ids and names that it was about; never texts."""
    undo: Mapping[str, Any] | None = None
    """What takes it back (`clew.operations.spec.Undo`); None for what cannot be, or was."""
    outcome: AuditOutcome = "unknown"


# Models: what embeds, extracts, reranks and writes.


class Embedder(Protocol):
    """Turns text into unit vectors; documents and questions apart, since many models differ."""

    @property
    def name(self) -> str:
        """Identity of the model and of its precision; a store remembers it."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them; the rest is cut."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given; none for none."""

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""


class Extractor(Protocol):
    """Finds names and relations in a document's chunks."""

    @property
    def name(self) -> str:
        """Identity and version; a store remembers which extractor read a document."""

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same for the same text."""


class Reranker(Protocol):
    """Reads question and passage together; slower and better than either channel."""

    @property
    def name(self) -> str:
        """Identity of the model."""

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1, higher is better, in the order given."""


class Reader(Protocol):
    """Reads question, thread and passage together: does it help, and where is the answer?"""

    @property
    def weights(self) -> Mapping[str, Sequence[float]]:
        """How its logits count beside the ranking: see `clew.search.reading.weigh`."""

    def read(self, question: str, passages: Sequence[Unread]) -> list[Reading]:
        """What it says of each passage, in the order given."""

    def warm(self) -> None:
        """Load what the first question would else wait for."""


# What names may name, and what sentences may state of two of them.

KINDS = ("", "person", "place", "organisation", "product", "work", "event", "concept")
"""What a name may name; the first is nothing."""
EITHER_WAY = (
    "works_with",
    "married_to",
    "sibling_of",
    "relative_of",
    "friend_of",
    "neighbour_of",
    "also_called",
    "met",
    "opposes",
)
ONE_WAY = (
    "works_at",
    "works_for",
    "member_of",
    "leads",
    "teaches",
    "treats",
    "helps",
    "minds",
    "parent_of",
    "lives_in",
    "from",
    "located_in",
    "part_of",
    "travelled_to",
    "took_place_in",
    "attended",
    "said_to",
    "gave_to",
    "lent_to",
    "bought_from",
    "sold_to",
    "supplies",
    "paid",
    "owes",
    "owns",
    "uses",
    "made",
    "repaired",
    "replaced",
    "assigned_to",
    "type_of",
    "named_after",
    "starred_in",
    "causes",
)
RELATIONS = ("", *EITHER_WAY, *ONE_WAY, *(f"{name}<" for name in ONE_WAY))
"""What a sentence may state of two names, in the order in which it has them; "<": of the second."""


class Said(NamedTuple):
    """What the tagger says of a sentence."""

    kinds: NDArray[np.float32]
    """(names, `KINDS`): probabilities of what each names."""
    relations: Mapping[tuple[int, int], NDArray[np.float32]]
    """(`RELATIONS`): probabilities of what is stated of two names, by their places in order."""


class Tagger(Protocol):
    """Reads sentences: what do their names name, and what is stated of two of them?"""

    @property
    def name(self) -> str:
        """Identity of the model."""

    @property
    def bounds(self) -> Mapping[str, float]:
        """From which probability on it is believed: see `clew.indexing.ner.classifier`."""

    def read(
        self, title: str, text: str, named: Mapping[CharRange, Sequence[CharRange]]
    ) -> Mapping[CharRange, Said]:
        """Return what is said of the names of each sentence, both as ranges of the text."""


# Language models: what is asked of them and what comes back. Nothing depends on one.
#
# A request keeps apart what is Clew's own (`instructions`) and what is data (`messages`). Whatever
# of a document stands in a message stands in the block that `clew.untrusted` makes.


Task: TypeAlias = Literal["extract", "context", "summarise", "answer", "route", "judge"]
"""What a request is for; each task has settings of its own, `llm.<task>`."""
FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "refused"]
"""Why a reply ended: the model was done, its limit was reached, tools are to be called, or the
provider would not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolDefinition:
    """A tool that the model may ask for."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A tool that the model asks for; nothing of it has been checked."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: JSON, or what should have been."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant", "tool"]
    text: str
    shared: int = 0
    """Of a user: characters at the beginning of the text that other requests begin with, too; a
    provider may keep what it made of them."""
    calls: tuple[ToolCall, ...] = ()
    """Of the assistant: the tools that it asked for."""
    answers: str = ""
    """Of a tool: the id of the call that it answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """How a request is to be answered; the settings of its task."""

    model: str
    temperature: float
    max_output_tokens: int
    seconds: float
    """For the whole request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request to a language model."""

    task: Task
    instructions: str
    """Clew's own words; never the text of a document."""
    messages: tuple[Message, ...]
    schema: type[BaseModel] | None = None
    """What the reply is to be, as JSON; None: plain text."""
    tools: tuple[ToolDefinition, ...] = ()
    subject: str = ""
    """What it is about, for people: a passage's id, a question."""
    documents: tuple[str, ...] = ()
    """Ids of the documents whose text it holds: what is kept of it goes with them."""
    parameters: Parameters | None = None
    """None: those of the settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a language model answered."""

    text: str
    finish: FinishReason
    model: str
    """The model that answered, which may be the fallback."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where the price is not known."""
    seconds: float = 0.0
    calls: tuple[ToolCall, ...] = ()
    value: BaseModel | None = None
    """What `Request.schema` made of the text. A provider leaves it out; the engine's own client
    (`EngineState.language_model`) never does where a schema was given."""
    cached: bool = False
    """Whether it was asked before: nothing was spent."""


class LanguageModel(Protocol):
    """Answers requests. Threads may share one.

    Both methods raise `ModelUnavailableError` where the model cannot be reached or is overloaded,
    `ReplyError` for an answer that cannot be used, `ModelError` for whatever else.
    """

    @property
    def name(self) -> str:
        """Identity of the model and of who provides it; replies are kept by it."""

    def reply(self, request: Request) -> Reply:
        """The whole answer."""

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """The answer's text in pieces as it is written, and at last the whole `Reply`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedReply:
    """A request as the store keeps it: its answer, or why there was none."""

    key: str
    """Hash of model, parameters, prompt and schema."""
    task: Task
    model: str
    subject: str
    documents: tuple[str, ...]
    reason: str
    """Why it failed; empty where it did not."""
    reply: str
    """JSON of text, finish reason and tool calls; empty where it failed."""
    characters: int
    """Of the prompt."""
    usage: Usage
    cost: float | None
    seconds: float
    at: str
    """When it was asked, in UTC."""
    hits: int = 0
    """How often it was used again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What work would take; nothing has been asked."""

    documents: int
    calls: int
    """Those that are answered from the cache not counted."""
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None where the price is not known."""


def total(found: Sequence[Estimate]) -> Estimate:
    """All of several estimates, of documents that differ; the cost is None where one's is."""
    costs = [one.cost for one in found if one.calls]
    known = [cost for cost in costs if cost is not None]
    return Estimate(
        documents=sum(one.documents for one in found),
        calls=sum(one.calls for one in found),
        cached=sum(one.cached for one in found),
        input_tokens=sum(one.input_tokens for one in found),
        output_tokens=sum(one.output_tokens for one in found),
        cost=sum(known) if costs and len(known) == len(costs) else None,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One request of a check."""

    what: str
    """A task, `stream`, `context length` or `tools`."""
    model: str
    ok: bool
    found: str
    """What came of it, or what is wrong, in a line."""
    seconds: float
    tokens_per_second: float | None


class ModelClient(LanguageModel, Protocol):
    """A language model as an engine has it: replies are kept, counted, and of the form asked for.

    A `search` is called with a question and the `model` that it may ask.
    """

    def limited(
        self, max_tokens: int | None = None, max_cost: float | None = None, *, keep: bool = True
    ) -> ModelClient:
        """The same model for one piece of work: counted by itself, within limits of its own, too.

        Without `keep`, replies are neither kept nor used again.
        """

    def check(self) -> None:
        """Raise `BudgetError` where a limit is reached."""

    def warm(self, passages: int, tokens: int, beside: int = 0) -> None:
        """Have a local model loaded in the background, for prompts of so many passages.

        Each has `tokens`; what stands beside them has at most as many as `beside` says.
        """

    def answer(
        self,
        question: str,
        search: Callable[..., SearchResult],
        tell: Callable[[str], None],
        *,
        mode: AnswerMode,
        steps: int,
    ) -> Answer:
        """The answer from what `search` finds; `tell` is called with each piece of it.

        Where the model fails, the documents' own sentences stand in its place.
        """

    def estimate(self, requests: Sequence[Request], reply_tokens: int = ...) -> Estimate:
        """What requests would take that are not answered yet, judged by the replies so far.

        Without any, a reply has `reply_tokens`.
        """

    def estimate_answer(
        self, question: str, search: Callable[..., SearchResult], *, mode: AnswerMode, steps: int
    ) -> Estimate:
        """What `answer` would take, at most where replies decide what is asked next."""

    def trials(self) -> Iterator[Trial]:
        """A trial of each task with its own model and limits, then of what else a model can."""


def ask(task: Task, instructions: str, text: str, *, subject: str = "") -> Request:
    """A request of one message, for plain text."""
    return Request(
        task=task,
        instructions=instructions,
        messages=(Message(role="user", text=text),),
        subject=subject,
    )


# Conversations with a language model, as the store keeps them.


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationInfo:
    """A conversation that is kept."""

    id: str
    title: str
    """How it began, shortened."""
    began_at: str
    """In UTC."""
    messages: int
