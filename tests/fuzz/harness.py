"""Shared by all fuzzers: numbered cases, mutated bytes, the command line run and judged, a process for what may crash.

A case is a function of its subject and its number alone, so that one that failed can be run again:
`ANONTO_FUZZ_CASE=1234 pytest tests/fuzz/test_plans.py`. `ANONTO_FUZZ=31` runs 31 times as many cases as the suite.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONGEST_LINE = 1_000
"""No line of standard error may be longer."""

TOKENS = (
    b"",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",  # a surrogate, which UTF-8 does not allow
    b"\xf4\x90\x80\x80",
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b",",
    b";",
    b'"',
    b"'",
    b"\\",
    b"\\ud800",
    b"=",
    b"[",
    b"]",
    b"{",
    b"}",
    b"<",
    b">",
    b"&",
    b"#",
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"inf",
    b"-inf",
    b"true",
    b"null",
    b"9" * 30,
    b"2147483648",
    b"9223372036854775808",
    b"18446744073709551616",
    b"0.1",
    b"1979-05-27",
    "é\u202e\u0000\U0001f600".encode(),
    b"x" * 5_000,
    b"[" * 200,
    b"%s%n",
    b"../..",
    b"/dev/zero",
)
"""Bytes that programs stumble over, for `mutated` to put anywhere."""


def n_cases(default: int) -> int:
    """How many cases a test runs: its own number, as many times as ANONTO_FUZZ says."""
    return round(default * float(os.environ.get("ANONTO_FUZZ", "1")))


def cases(default: int) -> range:
    """The numbers of the cases that a test runs; ANONTO_FUZZ_CASE names a single one."""
    single = os.environ.get("ANONTO_FUZZ_CASE")
    return range(n_cases(default)) if single is None else range(int(single), int(single) + 1)


def rng_of(subject: str, number: int) -> np.random.Generator:
    """The random numbers of one case."""
    return np.random.default_rng([zlib.crc32(subject.encode()), number])


# ---------------------------------------------------------------------------------------------- mutations


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with one to four faults: flipped, deleted, doubled, moved, cut off, or with a token put in."""
    for _ in range(int(rng.integers(1, 5))):
        content = _FAULTS[int(rng.integers(len(_FAULTS)))](content, rng)
    return content


def _range(content: bytes, rng: np.random.Generator, longest: int = 64) -> tuple[int, int]:
    start = int(rng.integers(len(content) + 1))
    return start, min(len(content), start + int(rng.integers(1, longest + 1)))


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    for place in rng.integers(len(content), size=int(rng.integers(1, 9))):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _any_byte(content: bytes, rng: np.random.Generator) -> bytes:
    start, _ = _range(content, rng)
    return content[:start] + bytes([int(rng.integers(256))]) + content[start + 1 :]


def _delete(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _range(content, rng)
    return content[:start] + content[end:]


def _double(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _range(content, rng)
    return content[:start] + content[start:end] * int(rng.integers(2, 9)) + content[end:]


def _splice(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _range(content, rng)
    place = int(rng.integers(len(content) + 1))
    return content[:place] + content[start:end] + content[place:]


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(len(content) + 1))]


def _insert(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _range(content, rng, 8)
    kept = end if rng.integers(2) else start
    return content[:start] + TOKENS[int(rng.integers(len(TOKENS)))] + content[kept:]


def _swap_lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    one, other = rng.integers(len(lines), size=2)
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


_FAULTS = (_flip, _any_byte, _delete, _double, _splice, _cut, _insert, _insert, _swap_lines)


# ---------------------------------------------------------------------------------------------- running and judging


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code, or None when it had to be stopped, and what it printed."""

    code: int | None
    out: str
    err: str


def outcome(arguments: list[str], folder: str | os.PathLike[str] | None = None) -> Outcome:
    """Run the command line in this process; what native libraries print is caught as well.

    Args:
        arguments: The words after `anonto`.
        folder: Where to keep what is printed, for a reader who survives a crash.
    """
    from anonto.cli.main import run

    with contextlib.ExitStack() as stack:
        place = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        with _caught(1, place / "out"), _caught(2, place / "err"), warnings.catch_warnings():
            warnings.resetwarnings()
            code = run(arguments)
        return Outcome(code, *_printed(place))


def fault_of(seen: Outcome, secrets: Iterable[str] = ()) -> str | None:
    """The fault in how a command ended, or None: it may succeed, or refuse in one sentence with exit code 2."""
    if seen.code not in {0, 2}:
        return "it did not end" if seen.code is None else f"exit code {seen.code}: {seen.err[-300:]}"
    lines = seen.err.splitlines()
    errors = [line for line in lines if line.startswith("Error: ")]
    wrong = {
        "a line that is neither an error nor a warning": [
            line for line in lines if not line.startswith(("Error: ", "Warning: "))
        ],
        "a failure of the program": [line for line in errors if "anonto failed" in line],
        "an error that is no sentence": [line for line in errors if not line.endswith((".", ")"))],
        f"a line of more than {LONGEST_LINE:,} characters": [line for line in lines if len(line) > LONGEST_LINE],
        "a cell": [line for line in lines if any(secret in line for secret in secrets)],
        f"exit code {seen.code} and {len(errors)} errors": [seen.err] if len(errors) != (seen.code == 2) else [],
    }
    return next((f"{what}: {found[0][:300]}" for what, found in wrong.items() if found), None)


TOLD: dict[str, tuple[int, int]] = {}
"""Cases and failures by subject, for the table that conftest.py prints."""


def all_hold(subject: str, default: int, fault: Callable[[int], str | None]) -> None:
    """Run the cases of a subject; fail with the number of each that went wrong.

    Args:
        subject: The name in the table of a full run.
        default: How many cases the suite runs.
        fault: What is wrong with the case of a number, or None. What it raises is a fault too.
    """
    numbers = cases(default)
    faults: dict[int, str] = {}
    for number in numbers:
        try:
            found = fault(number)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found is not None:
            faults[number] = found
    done, failed = TOLD.get(subject, (0, 0))
    TOLD[subject] = done + len(numbers), failed + len(faults)
    shown = "\n".join(f"  ANONTO_FUZZ_CASE={number}  {found}" for number, found in list(faults.items())[:40])
    assert not faults, f"{len(faults):,} of {len(numbers):,} cases of {subject} failed:\n{shown}"


# ---------------------------------------------------------------------------------------------- apart


class Apart:
    """Another process that runs commands one after the other and is replaced when one of them ends it.

    A crash is reported as the negative number of the signal, a command that takes too long by the code None.
    """

    def __init__(self, seconds: float = 60) -> None:
        self.seconds = seconds
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._folder.cleanup()

    def outcome(self, arguments: list[str]) -> Outcome:
        """Run the command line there."""
        place = Path(self._folder.name)
        for name in ("out", "err"):
            (place / name).unlink(missing_ok=True)
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(self.seconds, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps([arguments, self._folder.name]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        in_time = late.is_alive()
        late.cancel()
        if answer:
            return Outcome(json.loads(answer), *_printed(place))
        code = process.wait()
        self._end()
        return Outcome(code if in_time else None, *_printed(place))

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            here = str(Path(__file__).resolve().parent.parent)
            paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from fuzz.harness import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": paths},
            )
        return self._process

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process = None


def serve() -> None:
    """Run one command for each line of standard input and answer with its exit code."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        arguments, folder = json.loads(line)
        answers.write(f"{json.dumps(outcome(arguments, folder).code)}\n")
        answers.flush()


@contextlib.contextmanager
def _caught(number: int, file: Path) -> Iterator[None]:
    """Everything printed to one of the two streams goes to a file, also from below Python."""
    name = {1: "stdout", 2: "stderr"}[number]
    before, kept = getattr(sys, name), os.dup(number)
    before.flush()
    with file.open("wb") as stream:
        os.dup2(stream.fileno(), number)
        errors = "strict" if number == 1 else "backslashreplace"
        text = io.TextIOWrapper(stream, encoding="utf-8", errors=errors, write_through=True)
        setattr(sys, name, text)
        try:
            yield
        finally:
            with contextlib.suppress(UnicodeError):
                text.flush()
            setattr(sys, name, before)
            os.dup2(kept, number)
            os.close(kept)
            text.detach()


def _printed(place: Path) -> tuple[str, str]:
    out, err = ((place / name) for name in ("out", "err"))
    return tuple(file.read_text("utf-8", "backslashreplace") if file.exists() else "" for file in (out, err))  # type: ignore[return-value]
