"""No regular expression backtracks beyond linear on any text."""

from __future__ import annotations

from multiprocessing import get_context

from tests.security.patterns import measure

_PATIENCE = 10
"""Seconds for one expression, all of its attacks together."""
_EXPLODING = (
    r"(?:a+)+$",
    # headings and titles as they were once read: cubic and exponential
    r"^ {0,3}#[ \t]+(.*?)[ \t]*#*[ \t]*$",
    r"\A(?:\s*\n|\.\. [^\n]*\n|[ \t]+[^\n]*\n)*[ \t]*(?P<title>\S[^\n]*?)[ \t]*\n=+\n",
)


def test_every_expression_is_linear_in_what_it_reads() -> None:
    done, complaints = _measured()
    assert len(done) > 150
    assert not complaints, "\n".join(f"{name}: {text}" for name, text in complaints.items())


def test_expressions_that_explode_are_found() -> None:
    _, complaints = _measured(_EXPLODING, patience=2)
    assert set(complaints) == set(_EXPLODING)


def _measured(
    given: tuple[str, ...] = (), patience: float = _PATIENCE
) -> tuple[list[str], dict[str, str]]:
    """The expressions that were tried, and what is wrong with some."""
    done: list[str] = []
    complaints: dict[str, str] = {}
    while (stuck := _run(given, done, complaints, patience)) is not None:
        complaints[stuck] = f"ran for more than {patience} s and was killed"
        done.append(stuck)
    return done, complaints


def _run(
    given: tuple[str, ...], done: list[str], complaints: dict[str, str], patience: float
) -> str | None:
    """Measure what is not done yet; the expression that had to be killed, if any."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(theirs, tuple(done), given), daemon=True)
    process.start()
    theirs.close()
    current: str | None = None
    try:
        while ours.poll(60 if current is None else patience):
            message = ours.recv()
            if message is None:
                return None
            current, complaint = message
            if complaint is not None:
                done.append(current)
            if complaint:
                complaints[current] = complaint
        assert current is not None, "the expressions could not be imported"
        return current
    finally:
        process.kill()
        process.join()
        ours.close()
