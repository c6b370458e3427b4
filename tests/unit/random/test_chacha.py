"""ChaCha20 against the published words, and what is built on it."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from anonto.random.chacha import AT_ONCE, blocks, next_block, number_below, words_of_items
from anonto.random.streams import Key, Seed, row_words


def block(key: bytes, counter: int, nonce: int) -> bytes:
    out = np.empty((16, 1), dtype=np.uint32)
    of = np.array([counter], dtype=np.uint64), np.array([nonce], dtype=np.uint64)
    blocks(np.frombuffer(key, dtype="<u4").astype(np.uint32), *of, out)
    return out[:, 0].astype("<u4").tobytes()


@pytest.mark.parametrize(
    ("key", "counter", "nonce", "expected"),
    [
        pytest.param(
            bytes(range(32)),
            1,
            "000000090000004a00000000",
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
            id="section 2.3.2",
        ),
        pytest.param(
            bytes(32),
            0,
            "000000000000000000000000",
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
            id="appendix A.1, vector 1",
        ),
        pytest.param(
            bytes(32),
            1,
            "000000000000000000000000",
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
            "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
            id="appendix A.1, vector 2",
        ),
        pytest.param(
            bytes([*[0] * 31, 1]),
            1,
            "000000000000000000000000",
            "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
            "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
            id="appendix A.1, vector 3",
        ),
        pytest.param(
            bytes([0, 255, *[0] * 30]),
            2,
            "000000000000000000000000",
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
            "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
            id="appendix A.1, vector 4",
        ),
        pytest.param(
            bytes(32),
            0,
            "000000000000000000000002",
            "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
            "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
            id="appendix A.1, vector 5",
        ),
    ],
)
def test_blocks_are_those_of_rfc_8439(key: bytes, counter: int, nonce: str, expected: str) -> None:
    first, second, third = np.frombuffer(bytes.fromhex(nonce), dtype="<u4").tolist()
    assert block(key, counter | first << 32, second | third << 32).hex() == expected


def test_blocks_are_the_same_alone_or_with_others() -> None:
    key = bytes(range(32))
    counters = np.array([0, 5, 2**40, 2**64 - 1, *range(100)], dtype=np.uint64)
    nonces = counters[::-1].copy()
    out = np.empty((16, AT_ONCE), dtype=np.uint32)
    blocks(Key(key).words, counters, nonces, out)
    for i, (counter, nonce) in enumerate(zip(counters.tolist(), nonces.tolist(), strict=True)):
        assert out[:, i].astype("<u4").tobytes() == block(key, counter, nonce)


@given(
    rows=st.lists(st.integers(0, 40) | st.integers(0, 2**63 - 1), max_size=40)
    | st.integers(0, 3000).map(lambda n: list(range(n)))
)
def test_the_words_of_a_row_are_a_quarter_of_its_block(rows: list[int]) -> None:
    key = Key(bytes(range(32)))
    first, second = row_words(key, np.array(rows, dtype=np.int64), "a name")
    for row, one, other in list(zip(rows, first.tolist(), second.tolist(), strict=True))[:: 1 + len(rows) // 50]:
        quarter = block(key.of("a name").secret, row // 4, 0)[16 * (row % 4) :][:16]
        assert quarter == one.to_bytes(8, "little") + other.to_bytes(8, "little")


def test_rows_have_other_words_under_another_name_or_key() -> None:
    rows = np.arange(1000)
    words = [row_words(Seed(number).key("apply", 0), rows, name)[0] for number in (1, 2) for name in ("a", "b", "")]
    assert np.unique(np.concatenate(words)).size == 6000


def test_a_key_uses_all_of_the_seed() -> None:
    seed = 0x0123_4567_89AB_CDEF << 192 | 0xFEDC_BA98_7654_3210
    keys = {Seed(seed ^ (1 << bit)).key("rows").secret for bit in range(256)}
    assert len(keys) == 256
    assert all(len(key) == 32 for key in keys)
    expected = hashlib.blake2b(b"\x04\x00\x00\x00rows", key=seed.to_bytes(32, "little"), digest_size=32).digest()
    assert Seed(seed).key("rows").secret == expected


def test_a_key_shows_in_no_text() -> None:
    key = Seed(7).key("rows")
    assert key.secret.hex() not in repr(key)
    assert str(key.secret) not in f"{key} {key!r}"


@given(n_words=st.lists(st.integers(0, 30) | st.integers(2000, 5000), max_size=12))
def test_items_have_the_words_of_their_own_blocks_whatever_others_there_are(n_words: list[int]) -> None:
    key = bytes(range(32))
    given_words = words_of_items(
        Key(key).words, np.arange(100, 100 + len(n_words)).astype(np.uint64), np.array(n_words, int)
    )
    at = -1
    for nonce, n in enumerate(n_words, start=100):
        for draw in range(n):
            if draw % 8 == 0:
                at = next_block(given_words, at)
            if draw in {0, 7, 8, n - 1}:
                own = block(key, draw // 8, nonce)[8 * (draw % 8) :][:8]
                word = int.from_bytes(own, "little")
                assert number_below(given_words[3], at, draw % 8, 1_000_003) == word * 1_000_003 >> 64


# ------------------------------------------------------------------------------------------------ streams


def test_a_stream_has_the_words_of_the_cipher_in_their_order() -> None:
    key = Seed(11).key("stream", "fit", 0).secret
    expected = b"".join(block(key, number, 0) for number in range(200))
    rng = Seed(11).stream("fit", 0)
    assert rng.bytes(len(expected)) == expected
    rng = Seed(11).stream("fit", 0)
    doubles = rng.random(1600)
    assert np.array_equal(doubles, (np.frombuffer(expected, dtype="<u8") >> np.uint64(11)) * 2.0**-53)


def test_a_compiled_loop_draws_what_numpy_draws() -> None:
    from numba import njit

    @njit
    def drawn(generator: np.random.Generator, n: int) -> np.ndarray:
        out = np.empty(n)
        for i in range(n):
            out[i] = generator.random()
        return out

    assert np.array_equal(drawn(Seed(3).stream("a"), 3000), Seed(3).stream("a").random(3000))


def test_a_stream_is_used_up_by_numpy_and_compiled_loops_alike() -> None:
    rng = Seed(3).stream("a")
    whole = Seed(3).stream("a").integers(0, 1 << 32, 5000, dtype=np.uint32)
    parts = [rng.integers(0, 1 << 32, n, dtype=np.uint32) for n in (1, 1023, 1024, 2000, 952)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_streams_that_are_split_off_are_new_ones_each_time_and_the_same_again() -> None:
    rng, again = Seed(3).stream("a"), Seed(3).stream("a")
    children = [*rng.spawn(3), *rng.spawn(2), *rng.spawn(1)[0].spawn(2)]
    drawn = [child.bytes(16) for child in children]
    assert len({*drawn, Seed(3).stream("a").bytes(16)}) == 8
    assert [child.bytes(16) for child in again.spawn(5)] == drawn[:5]


def test_draws_of_a_stream_have_their_distributions() -> None:
    rng = Seed(1).stream("a")
    assert kstest(rng.random(50_000), "uniform").pvalue > 1e-4
    assert kstest(rng.standard_normal(50_000), "norm").pvalue > 1e-4
    assert chisquare(np.bincount(rng.integers(0, 7, 50_000))).pvalue > 1e-4
    assert sorted(rng.permutation(1000).tolist()) == list(range(1000))
