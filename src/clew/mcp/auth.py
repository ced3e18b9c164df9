"""Who calls over HTTP, and what they may do: static tokens and tokens of an OAuth issuer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import anyio
import anyio.to_thread
import jwt
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.auth.settings import AuthSettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.errors import NotFoundError, SettingsError
from clew.operations.spec import Caller
from clew.settings import (
    NAMESPACE,
    OAuthSettings,
    QuotaSettings,
    ServeSettings,
    Settings,
    TokenSettings,
    load_settings,
)
from clew.text import text_digest
from clew.types import Right

_log = logging.getLogger("clew.mcp")


class Access:
    """Implements the SDK's `TokenVerifier`, and says what the owner of a verified token may do.

    Raises:
        SettingsError: Nobody could call: neither tokens nor an issuer are set.
    """

    def __init__(self, settings: ServeSettings, file: Path | None = None) -> None:
        """`file` is where the tokens come from; they are read again where it changes."""
        self._tokens: Mapping[str, TokenSettings] = {token.name: token for token in settings.tokens}
        self._file = file
        self._read = self._state()
        self._oauth: TokenReader | None = None
        if settings.oauth.issuer:
            self._oauth = TokenReader(settings.oauth)
        if not self._tokens and self._oauth is None:
            raise SettingsError(
                "nobody could call: serve.tokens and serve.oauth.issuer are empty. Run `clew"
                " token NAME` for one; `clew serve --insecure` asks for none, on this machine alone"
            )

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the token says about its owner; None where it is not a good one."""
        static = self._static(token)
        if static is not None:
            scopes = [name for name, right in SCOPES.items() if right in static.scopes]
            # The hash tells a token from the one that replaced it.
            return AccessToken(token=static.sha256, client_id=static.name, scopes=scopes)
        if self._oauth is None:
            return None
        return await anyio.to_thread.run_sync(self._oauth.read, token)

    def _static(self, token: str) -> TokenSettings | None:
        """Compared with every hash, so that the time taken says nothing."""
        given = text_digest(token)
        found = [t for t in self._tokens.values() if hmac.compare_digest(given, t.sha256)]
        return found[0] if found else None

    def refresh(self) -> None:
        """Read the tokens again where their file changed; what cannot be read changes nothing."""
        state = self._state()
        if state == self._read:
            return
        self._read = state
        try:
            self._tokens = {token.name: token for token in load_settings().serve.tokens}
        except SettingsError as error:
            _log.error("the tokens stay as they were: %s", error)

    def _state(self) -> tuple[int, ...] | None:
        """What differs once the file is another."""
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return found and (found.st_mtime_ns, found.st_ino, found.st_size)

    def allows(self, token: AccessToken) -> bool:
        """Whether a token that was verified is still good."""
        if token.claims is not None:
            return token.expires_at is None or time.time() < token.expires_at
        static = self._tokens.get(token.client_id)
        return static is not None and static.sha256 == token.token

    def caller(self, token: AccessToken) -> Caller:
        """Who the owner of a verified token is, and what they may do.

        Raises `MCPError` where the token was revoked meanwhile.
        """
        # Tokens of the issuer say who issued them; a client of the same name is somebody else.
        if token.claims is not None and self._oauth is not None:
            return self._oauth.caller(token)
        static = self._tokens.get(token.client_id)
        if static is None:
            raise MCPError(code=INVALID_PARAMS, message="this token was revoked; ask for another")
        return Caller(
            name=static.name,
            namespaces=static.namespaces,
            scopes=frozenset(static.scopes),
            tools=None if static.tools is None else frozenset(static.tools),
        )


def auth_settings(serve: ServeSettings) -> AuthSettings:
    """Settings for the SDK; static tokens have no issuer but this server."""
    here = f"http://{serve.host}:{serve.port}"
    return AuthSettings.model_validate(
        {
            "issuer_url": serve.oauth.issuer or here,
            "resource_server_url": serve.oauth.audience or None,
            # The token's audience is checked where it is verified.
            "validate_token_resource": False,
            "required_scopes": [READ],
        }
    )


def anonymous(settings: Settings) -> Caller:
    """Whoever calls where nobody is asked for a token."""
    names = dict.fromkeys((settings.namespace, *settings.serve.namespaces))
    return Caller(name="local", namespaces=tuple(names))


def chosen_namespace(caller: Caller, asked: str | None) -> str:
    """The namespace that a request is about: the one that it names, else the caller's first.

    Raises `MCPError` in the same words whether another's namespace exists or not.
    """
    if asked is None:
        return caller.namespaces[0]
    if asked not in caller.namespaces:
        yours = ", ".join(caller.namespaces)
        raise MCPError(
            code=INVALID_PARAMS, message=f"no namespace {asked!r} of yours; yours are {yours}"
        )
    return asked


# Tokens of an OAuth 2.1 authorization server: JWTs, verified by the issuer's public keys.


ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures by a private key; nothing that a public key could forge."""
LEEWAY_SECONDS = 30
"""How far clocks may differ."""
KEYS_SECONDS = 10
"""How long the issuer may take to send its keys."""


class TokenReader:
    """Reads and verifies tokens: signature, issuer, audience, expiry (RFC 9068, RFC 8707)."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._keys = jwt.PyJWKClient(settings.jwks_url, timeout=KEYS_SECONDS)

    def read(self, token: str) -> AccessToken | None:
        """What the token says; None where it is not a good one, and the log says why."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token),
                algorithms=ALGORITHMS,
                issuer=self._settings.issuer,
                audience=self._settings.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            # The kind alone: messages may repeat what the token says.
            _log.info("a bearer token was refused: %s", type(error).__name__)
            return None
        try:
            json.dumps(claims, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair: no text that could be a name, in a log or anywhere.
            _log.info("a bearer token was refused: a claim of it is no text")
            return None
        if not self._namespaces(claims):
            _log.info("a bearer token was refused: it names no namespace")
            return None
        return AccessToken(
            token="",
            client_id=str(claims.get("client_id") or claims.get("azp") or claims["sub"]),
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]),
            resource=self._settings.audience,
            subject=str(claims["sub"]),
            claims=claims,
        )

    def caller(self, token: AccessToken) -> Caller:
        """Who the owner of a verified token is, and what they may do."""
        return Caller(
            name=str(token.subject),
            namespaces=self._namespaces(token.claims or {}),
            scopes=rights(token.scopes),
        )

    def _namespaces(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Those that the claim names; else the subject's own, named so that nobody else's is."""
        if not self._settings.namespace_claim:
            owner = f"{self._settings.issuer}\n{claims['sub']}"
            return (f"user-{hashlib.sha256(owner.encode()).hexdigest()[:32]}",)
        named = claims.get(self._settings.namespace_claim)
        names = named if isinstance(named, list) else [named]
        return tuple(n for n in names if isinstance(n, str) and re.fullmatch(NAMESPACE, n))


def _scopes(claims: dict[str, Any]) -> list[str]:
    """From `scope` (words, RFC 9068) or `scp` (words or a list, as some issuers have it)."""
    given = claims.get("scope", claims.get("scp", ""))
    if isinstance(given, str):
        return given.split()
    return [s for s in given if isinstance(s, str)] if isinstance(given, list) else []


# Tokens that name a caller: made here, kept as their hash alone.


def new_token() -> tuple[str, str]:
    """A token for a new caller, and its SHA-256 for the settings.

    The token is random and long: nothing slower than that is needed.
    """
    token = f"clew_{secrets.token_urlsafe(32)}"
    return token, text_digest(token)


def token_settings(name: str, digest: str, namespace: str) -> str:
    """The lines of the settings file that let a caller in; raises `SettingsError` for no name."""
    from pydantic import ValidationError

    try:
        token = TokenSettings(name=name, sha256=digest, namespaces=(namespace,))
    except ValidationError as error:
        raise SettingsError(
            f"a token cannot be for {name!r}; expected a name of 1 to 64 characters"
        ) from error
    lines = token.model_dump(include={"name", "sha256", "namespaces"}, mode="json")
    # TOML's strings are JSON's, but for one character more that is escaped.
    written = (
        f"{field} = {json.dumps(value, ensure_ascii=False)}" for field, value in lines.items()
    )
    return "\n".join(["[[serve.tokens]]", *written, ""]).replace("\x7f", "\\u007f")


def without_token(name: str, file: Path) -> str:
    """The settings file without a caller's token; the rest of it is as it was.

    Raises `NotFoundError` where there is no such token in it.
    """
    from clew.settings.load import editable_toml

    document = editable_toml(file.read_text(encoding="utf-8") if file.is_file() else "")
    tokens = document.get("serve", {}).get("tokens", [])
    numbers = [number for number, token in enumerate(tokens) if token.get("name") == name]
    if not numbers:
        known = ", ".join(str(token.get("name")) for token in tokens) or "none"
        raise NotFoundError(f"no token {name!r} in {file.name}; there are: {known}")
    del tokens[numbers[0]]
    return document.as_string()


# The OAuth scopes of Clew, and the rights that they give.


SCOPES: dict[str, Right] = {f"clew:{right}": right for right in get_args(Right)}
"""Rights by the name of their OAuth scope."""
READ = "clew:read"
"""The scope that every caller needs."""


def rights(scopes: list[str]) -> frozenset[Right]:
    """The rights that OAuth scopes give; scopes of others are none."""
    return frozenset(SCOPES[scope] for scope in scopes if scope in SCOPES)


# What a token that is limited to some tools may do without calling one: what these would tell.


What = Literal["documents", "entities", "collections", "statistics", "schema", "sources"]
"""Kinds of resources by their first name; `sources` is the list of documents."""

_ENTITY_TOOLS = frozenset({"get_entity_neighbors", "graph_enhanced_search"})
_COUNTING = frozenset({"get_graph_statistics"})
TELLING: Mapping[What, frozenset[str]] = {
    "documents": frozenset({"fetch", "get_document"}),
    "sources": frozenset({"list_documents"}),
    "entities": _ENTITY_TOOLS,
    "collections": frozenset({"list_collections"}),
    "statistics": _COUNTING,
    "schema": _COUNTING,
}
"""The tools of which each tells as much; one of them is enough."""
COMPLETED: Mapping[str, What] = {
    "collection": "collections",
    "document": "sources",
    **dict.fromkeys(("entity", "source", "target", "topic"), "entities"),
}
"""What the names are of that an argument of a prompt or of an address is completed with."""
PROMPTED: Mapping[str, frozenset[str]] = {
    "research_question": frozenset({"query_documents"}) | _ENTITY_TOOLS,
    "summarise_topic": frozenset({"query_documents"}),
    "review_relations": frozenset({"query_documents"}) | _ENTITY_TOOLS,
    "explain_path": frozenset({"query_documents"}),
}
"""The tools that each prompt names; it is of use to those alone who may call all of them."""


def may_read(caller: Caller, what: What) -> bool:
    """Whether a caller may read resources of a kind, complete their names and watch them."""
    return caller.tools is None or not caller.tools.isdisjoint(TELLING[what])


def may_prompt(caller: Caller, prompt: str) -> bool:
    """Whether a caller may see a prompt; one that is not Clew's own names no tool of it."""
    return caller.tools is None or PROMPTED.get(prompt, frozenset()) <= caller.tools


# What callers have under way over HTTP: so many requests and sessions, for as long as they may.


SESSION = "mcp-session-id"
RETRY_SECONDS = 5
"""After how long it is worth asking again where everything is taken."""


@dataclass(eq=False, kw_only=True, slots=True)
class Session:
    """What a client of revision 2025-11-25 began."""

    namespace: str
    token: AccessToken | None
    ends: float
    key: object = None
    """Its id, once it has one."""
    requests: int = 0
    idle_since: float = 0.0


class Callers:
    """The requests and sessions of all callers.

    The SDK closes a session that was idle for too long and says nothing of it, so that sessions
    are counted here by the same rule.
    """

    def __init__(self, serve: ServeSettings, quota: QuotaSettings) -> None:
        self.serve = serve
        self.quota = quota
        self.rate = Rate(serve.rate_per_minute)
        self.requests: Counter[object] = Counter()
        self.under_way: dict[anyio.CancelScope, AccessToken] = {}
        """What ends a request that is answered now, and the token that came with it."""
        self.sessions: dict[object, Session] = {}
        """By their keys."""

    def end(self, allowed: Callable[[AccessToken], bool]) -> None:
        """End what callers have under way whose token is good no more."""
        for ending, token in self.under_way.items():
            if not allowed(token):
                ending.cancel()
        for session in self.sessions.values():
            if session.token is not None and not allowed(session.token):
                session.ends = 0.0

    def lives(self, session_id: str) -> bool:
        """Whether a session goes on; always where one process serves one client."""
        session = self.sessions.get(session_id)
        return not session_id or (session is not None and self._lives(session))

    def open(self, namespace: str, token: AccessToken | None) -> Session | None:
        """A new session, None where the namespace has as many as it may."""
        for key in [key for key, session in self.sessions.items() if self._is_over(session)]:
            del self.sessions[key]
        held = sum(session.namespace == namespace for session in self.sessions.values())
        if held >= self.quota.sessions:
            return None
        ends = anyio.current_time() + self.serve.session_hours * 3600
        session = Session(namespace=namespace, token=token, ends=ends, key=object())
        self.sessions[session.key] = session
        return session

    def name(self, session: Session, session_id: str | None) -> None:
        """Say which id a new session has; None where it came to nothing."""
        self.sessions.pop(session.key, None)
        if session_id is not None:
            session.key = session_id
            self.sessions[session_id] = session

    def _lives(self, session: Session) -> bool:
        return anyio.current_time() < session.ends and not self._is_over(session)

    def _is_over(self, session: Session) -> bool:
        """Whether the SDK has closed it by now."""
        idle = anyio.current_time() - session.idle_since
        return not session.requests and idle > self.serve.session_minutes * 60


class Line:
    """What a client sends, and whether it hung up; Starlette itself does not look."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._heard = anyio.Event()
        self.gone = anyio.Event()
        if scope["method"] == "GET":  # has no body that anybody reads
            self._heard.set()

    async def receive(self) -> Message:
        """The next part of the body; behind its end, that the client is gone, once it is."""
        if self._heard.is_set():
            await self.gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if not message.get("more_body"):
            self._heard.set()
        return message

    async def watch(self, scope: anyio.CancelScope) -> None:
        """Cancel what is done for a client that hangs up after it has sent everything."""
        await self._heard.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone.set()
        scope.cancel()


class CallerLimits:
    """ASGI middleware in front of the protocol; it has to know who calls.

    `namespace` says which one a request is about.
    """

    def __init__(
        self, app: ASGIApp, callers: Callers, namespace: Callable[[Request], str | None], path: str
    ) -> None:
        self._app = app
        self._callers = callers
        self._namespace = namespace
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and keep count of it, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Whoever the verified token names; without one, the address.
        user, client, callers = scope.get("user"), scope.get("client"), self._callers
        token = user.access_token if isinstance(user, AuthenticatedUser) else None
        caller: object = client[0] if client else None
        if token is not None:
            caller = principal_components(token)
        if wait := callers.rate.early(caller):
            often = f"more than {callers.rate.per_minute} requests a minute"
            refused = _refused(f"{often}; wait {wait:.0f} seconds", wait)
            await refused(scope, receive, send)
            return
        most = callers.serve.connections_per_caller
        if callers.requests[caller] >= most:
            await _refused(
                f"you have {most} requests under way, as many as a caller may (the setting"
                " serve.connections_per_caller); wait for one to end"
            )(scope, receive, send)
            return
        callers.requests[caller] += 1
        try:
            await self._in_session(token, scope, receive, send)
        finally:
            callers.requests[caller] -= 1
            if not callers.requests[caller]:
                del callers.requests[caller]

    async def _in_session(
        self, token: AccessToken | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        callers, namespace, session = self._callers, self._namespace(Request(scope)), None
        if namespace is not None:
            session = callers.sessions.get(Headers(scope=scope).get(SESSION))
        if namespace is not None and self._opens(scope):
            session = callers.open(namespace, token)
            if session is None:
                await _refused(
                    f"namespace {namespace!r} has {callers.quota.sessions} sessions, as many as it"
                    " may (the setting quota.sessions); end one with DELETE, or wait: idle ones end"
                    f" after {callers.serve.session_minutes:g} minutes"
                )(scope, receive, send)
                return
        elif session is not None and anyio.current_time() >= session.ends:
            gone = PlainTextResponse("this session is over; initialize another", status_code=404)
            await gone(scope, receive, send)
            return
        ending = anyio.CancelScope()
        if token is not None:
            callers.under_way[ending] = token
        try:
            await self._run(ending, session, scope, receive, send)
        finally:
            callers.under_way.pop(ending, None)

    async def _run(
        self,
        ending: anyio.CancelScope,
        session: Session | None,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer the request, within the time that its session has, and while somebody waits."""
        started = ended = False

        async def watched(message: Message) -> None:
            nonlocal started, ended
            if message["type"] == "http.response.start":
                started = True
                self._note(session, scope, message)
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        if session is not None:
            session.requests += 1
            ending.deadline = session.ends
        # The SDK looks itself whether its clients wait: one may come back for its answer.
        line = Line(scope, receive)
        if is_own := scope["path"] != self._path:
            watching = asyncio.create_task(line.watch(ending))
        try:
            with ending:
                await self._app(scope, line.receive if is_own else receive, watched)
        finally:
            if is_own:
                watching.cancel()
            if session is not None:
                session.requests -= 1
                session.idle_since = anyio.current_time()
                if not started and self._opens(scope):
                    self._callers.name(session, None)
        if ending.cancelled_caught and not ended and not line.gone.is_set():
            if not started:
                await PlainTextResponse("your token was revoked", 401)(scope, receive, send)
            else:
                await send({"type": "http.response.body", "body": b""})

    def _opens(self, scope: Scope) -> bool:
        """Whether a request begins a session."""
        headers = Headers(scope=scope)
        version = headers.get("mcp-protocol-version")
        return (
            scope["path"] == self._path
            and scope["method"] == "POST"
            and SESSION not in headers
            and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
        )

    def _note(self, session: Session | None, scope: Scope, start: Message) -> None:
        """See from an answer whether a session began or ended, and when it is worth to ask."""
        headers = MutableHeaders(scope=start)
        if start["status"] == 503 and "retry-after" not in headers:
            headers["Retry-After"] = str(RETRY_SECONDS)
        if session is None:
            return
        asked = Headers(scope=scope).get(SESSION)
        if asked is None:
            self._callers.name(session, headers.get(SESSION) if start["status"] < 400 else None)
        elif start["status"] == 404 or (scope["method"] == "DELETE" and start["status"] < 400):
            self._callers.name(session, None)


def _refused(reason: str, seconds: float = RETRY_SECONDS) -> PlainTextResponse:
    return PlainTextResponse(reason, status_code=429, headers={"Retry-After": f"{seconds:.0f}"})


# How often one caller may ask.


KNOWN = 10_000
"""Callers that are remembered at a time; those that have been quiet are forgotten first."""


class Rate:
    """How often a caller may ask (token bucket)."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        # When each caller's bucket will be full again, in the order of the last request.
        self._full_at: dict[object, float] = {}

    def early(self, caller: object) -> float:
        """Count one request; how many seconds it comes too early (0: not at all)."""
        now, share = self._clock(), 60.0 / self.per_minute
        full_at = max(self._full_at.pop(caller, now), now)
        early = full_at + share - now - 60.0
        self._full_at[caller] = full_at if early > 1e-9 else full_at + share
        if len(self._full_at) > KNOWN:
            self._full_at.pop(next(iter(self._full_at)))
        return max(early, 1.0) if early > 1e-9 else 0.0
