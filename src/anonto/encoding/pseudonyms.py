"""Pseudonyms: a keyed hash of each value, which nobody can turn back or make without the key."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING

from anonto.encoding.refusals import colliding_pseudonyms, readable_key, wrong_key_file
from anonto.ontology.source import open_file
from anonto.random.streams import Key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

START = "anonto-key/1 "
_KEY = re.compile(rb"anonto-key/1 ([0-9a-f]{64})\s*")
LARGEST = 1_000
"""Bytes of a key file."""
N_BYTES = 12
"""Two of a million values collide with a probability below 10^-17; a collision is refused."""


def pseudonyms_of(name: str, values: Sequence[str], key: Key) -> tuple[str, ...]:
    """The pseudonym of each distinct value: the same for the same value and key, in whatever column."""
    secret = key.of("pseudonyms").secret
    found = tuple(f"p{hashlib.blake2b(one.encode(), key=secret, digest_size=N_BYTES).hexdigest()}" for one in values)
    if len(set(found)) < len(found):
        raise colliding_pseudonyms(name)
    return found


def read_or_make_key(path: Path) -> Key:
    """The key in a file that only its owner can read; a new one is made if the file is not there."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_key(path)
    except OSError:
        raise wrong_key_file(str(path), "it cannot be made") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        secret = secrets.token_bytes(32)
        stream.write(f"{START}{secret.hex()}\n")
    return Key(secret)


def _read_key(path: Path) -> Key:
    with open_file(path) as stream:
        status = os.fstat(stream.fileno())
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
            raise readable_key(str(path))
        found = _KEY.fullmatch(stream.read(LARGEST))
    if found is None:
        raise wrong_key_file(str(path), "it does not hold one key")
    return Key(bytes.fromhex(found[1].decode("ascii")))
