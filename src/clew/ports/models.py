"""Models: what embeds, extracts, reranks and writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from clew.types import Chunk, Document, Extraction, Scores, Vector, Vectors
from clew.types.results import Usage as Usage

if TYPE_CHECKING:
    from pydantic import BaseModel


class Embedder(Protocol):
    """Turns text into unit vectors; documents and questions apart, since many models differ."""

    @property
    def name(self) -> str:
        """Identity of the model and of its precision; a store remembers it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them; the rest is cut."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given; none for none."""
        ...

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""
        ...


class Extractor(Protocol):
    """Finds names and relations in a document's chunks."""

    @property
    def name(self) -> str:
        """Identity and version; a store remembers which extractor read a document."""
        ...

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same for the same text."""
        ...


class Reranker(Protocol):
    """Reads question and passage together; slower and better than either channel."""

    @property
    def name(self) -> str:
        """Identity of the model."""
        ...

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1, higher is better, in the order given."""
        ...


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
        ...

    def reply(self, request: Request) -> Reply:
        """The whole answer."""
        ...

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """The answer's text in pieces as it is written, and at last the whole `Reply`."""
        ...


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
