"""Files that crash, panic or fill the memory of the libraries that decode them: refused in one sentence."""

from __future__ import annotations

import gzip
import os
import signal
import struct
import subprocess
import sys
import textwrap
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl
import pyreadstat
import pytest
import xlsxwriter

from anonto.encoding.series import as_text_series
from anonto.errors import ColumnError, FileError, MalformedFileError
from anonto.io import decoder, parquet_files
from anonto.io.batches import open_batches
from anonto.io.decoder import UndecodableError, decode_apart
from anonto.io.reading import read_table, table_format
from anonto.io.table import Origin, Table
from anonto.io.writing import write_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

MEGABYTE = 1 << 20


def crash(*_: object) -> None:
    os.abort()


def length(text: str) -> int:
    return len(text)


def panicking(path: str) -> str:
    raise pl.exceptions.PanicException(path)


def parquet(path, frame=None):
    table = pl.DataFrame({"a": ["x", "y", "z"] * 100, "n": range(300)}) if frame is None else frame
    table.write_parquet(path, compression="uncompressed", statistics=False)
    return path


def workbook(path, *cells):
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write("A1", "a")
        sheet.write("A2", 1)
        for cell in cells:
            sheet.write(cell, 5)
    return path


def with_part(path, name, chunks):
    """A workbook with another part in the place of one, made of chunks."""
    with zipfile.ZipFile(workbook(path)) as book:
        parts = {one: book.read(one) for one in book.namelist() if one != name}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one, content in parts.items():
            archive.writestr(one, content)
        with archive.open(name, "w") as stream:
            for chunk in chunks:
                stream.write(chunk)
    return path


def measured(code, *arguments):
    """The output of a fresh process, and the peak of memory of it and of the processes that it started."""
    # On Linux, ru_maxrss of a new process starts at the size of the one that started it, which here is pytest.
    ending = """
        import resource
        from pathlib import Path
        from anonto.io import decoder
        decoder._process.end()
        own = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        print(max(int(own.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
    """
    whole = textwrap.dedent(code) + textwrap.dedent(ending)
    done = subprocess.run(
        [sys.executable, "-c", whole, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    *said, peak = done.stdout.splitlines()
    assert not done.stderr
    return "\n".join(said), int(peak) << 10


READ = """
    import sys
    from anonto.errors import InputError
    from anonto.io.reading import read_table
    try:
        read_table(sys.argv[1])
    except InputError as error:
        print(f"{type(error).__name__}: {error}")
"""

# ---------------------------------------------------------------------------------------------- the decoder


def test_a_decoder_crash_is_reported_and_the_next_file_is_decoded():
    with pytest.raises(UndecodableError):
        decode_apart(crash)
    assert decode_apart(length, "abc") == 3


def test_errors_raised_by_the_decoder_stay_in_its_process(capfd):
    with pytest.raises(UndecodableError) as caught:
        decode_apart(panicking, "a cell")
    assert str(caught.value) == ""
    assert capfd.readouterr().err == ""


def test_an_idle_decoder_that_exited_is_replaced():
    decode_apart(length, "a")
    decoder._process._running.kill()
    decoder._process._running.wait()
    assert decode_apart(length, "ab") == 2


def test_files_are_decoded_here_where_no_process_can_be_started(monkeypatch):
    decoder._process.end()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert decode_apart(length, "abc") == 3


# ---------------------------------------------------------------------------------------------- Parquet


def test_parquet_that_crashes_polars_is_refused_by_every_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "fault_of_parquet", crash)
    path = parquet(tmp_path / "t.parquet")
    for read in (read_table, open_batches):
        with pytest.raises(
            MalformedFileError, match=r"'t.parquet' is not a valid Parquet file: it cannot be decoded\.$"
        ):
            read(path)


@pytest.mark.parametrize("byte", range(0, 300, 7))
def test_no_wrong_byte_at_the_end_of_parquet_panics_here(tmp_path, capfd, byte):
    content = bytearray(parquet(tmp_path / "t.parquet").read_bytes())
    content[-9 - byte] ^= 0xFF
    (tmp_path / "t.parquet").write_bytes(content)
    for read in (read_table, open_batches):
        with suppress(MalformedFileError):
            read(tmp_path / "t.parquet")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("us", "Asia/Tokyo")])
@pytest.mark.parametrize("sign", [1, -1])
def test_dates_beyond_the_calendar_are_refused(tmp_path, capfd, dtype, sign):
    whole, far = (pl.Int32, 2**31 - 1) if dtype == pl.Date else (pl.Int64, 2**63 - 1)
    cells = pl.Series("day", [0, sign * far], dtype=whole).cast(dtype)
    parquet(tmp_path / "t.parquet", cells.to_frame())
    with pytest.raises(MalformedFileError, match="it has dates or times beyond the calendar"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(ColumnError, match=r"cannot be masked or compared: .*beyond the calendar"):
        as_text_series(cells)
    assert capfd.readouterr().err == ""


WIDE = """
import sys
from pathlib import Path
from anonto.io.parquet_files import fault_of_parquet
fault = fault_of_parquet(sys.argv[1])
print(repr(fault), int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at its memory in /proc")
def test_a_wide_parquet_file_is_tried_in_less_memory_than_its_cells_take(tmp_path):
    cells = pl.Series(range(100_000), dtype=pl.Int64) % 1_000
    frame = pl.DataFrame({f"c{place}": cells + place for place in range(400)})  # 320 MB
    frame.write_parquet(tmp_path / "t.parquet")
    command = [sys.executable, "-c", WIDE, str(tmp_path / "t.parquet")]
    fault, megabytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert fault == "''"
    assert int(megabytes) < 300


def test_every_column_of_a_wide_parquet_file_is_tried(tmp_path):
    frame = pl.DataFrame({f"c{place}": [place] for place in range(100)})
    beyond = pl.lit(200_000_000).cast(pl.Int32).cast(pl.Date).alias("when")
    frame.with_columns(beyond).write_parquet(tmp_path / "t.parquet")
    assert parquet_files.fault_of_parquet(str(tmp_path / "t.parquet")) == parquet_files.BEYOND_CALENDAR


def test_a_sound_parquet_file_is_tried_once_and_again_when_it_changes(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(parquet_files, "decode_apart", lambda _, path: asked.append(path) or "")
    path = parquet(tmp_path / "t.parquet")
    for _ in range(3):
        read_table(path)
        open_batches(path)
    assert len(asked) == 1
    parquet(path, pl.DataFrame({"b": [1]}))
    read_table(path)
    assert len(asked) == 2


# ---------------------------------------------------------------------------------------------- Excel


def test_a_zip_archive_of_an_unknown_version_is_taken_for_a_workbook(tmp_path):
    content = workbook(tmp_path / "t.xlsx").read_bytes()
    place = content.rindex(b"PK\x01\x02") + 6
    (tmp_path / "t.xlsx").write_bytes(content[:place] + b"\xff\x00" + content[place + 2 :])
    assert table_format(tmp_path / "t.xlsx") == "excel"
    with suppress(MalformedFileError):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("cell", ["XFD1048576", "XFD2000"])
def test_a_cell_far_from_the_others_is_refused_in_little_memory(tmp_path, cell):
    said, peak = measured(READ, workbook(tmp_path / "t.xlsx", cell))
    assert "nearly all of them empty" in said
    assert peak < 1_500 * MEGABYTE


def test_a_long_sheet_of_few_cells_is_read(tmp_path):
    assert read_table(workbook(tmp_path / "t.xlsx", "A200000")).frame.shape == (199_999, 1)


def test_a_workbook_with_a_huge_part_is_refused_unread(tmp_path):
    chunks = [b"a" * MEGABYTE] * 1024
    path = with_part(tmp_path / "t.xlsx", "xl/sharedStrings.xml", chunks)
    assert path.stat().st_size < 5 * MEGABYTE
    said, peak = measured(READ, path)
    assert "expands beyond" in said
    assert peak < 400 * MEGABYTE


def test_a_huge_part_that_lies_about_its_size_meets_the_limit_of_memory(tmp_path):
    path = with_part(tmp_path / "t.xlsx", "xl/sharedStrings.xml", [b"<sst><si><t>", *[b"a" * MEGABYTE] * 300])
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("xl/sharedStrings.xml").file_size
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", 1_000)))
    said, peak = measured(READ, path)
    assert said.startswith(f"{MalformedFileError.__name__}: ")
    assert peak < decoder.LEAST_MEMORY + 500 * MEGABYTE


def test_entities_of_a_workbook_do_not_expand(tmp_path):
    nested = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    part = f'<!DOCTYPE sst [<!ENTITY l0 "lol">{nested}]><sst><si><t>&l9;</t></si></sst>'
    said, peak = measured(READ, with_part(tmp_path / "t.xlsx", "xl/sharedStrings.xml", [part.encode()]))
    assert said.partition(":")[0] in {"", MalformedFileError.__name__}
    assert peak < 400 * MEGABYTE


# ---------------------------------------------------------------------------------------------- the others


def test_a_damaged_spss_file_that_crashes_its_library_is_refused(tmp_path, monkeypatch):
    from anonto.io import stat_files

    pyreadstat.write_sav(pl.DataFrame({"a": [1.0]}), tmp_path / "t.sav")
    monkeypatch.setattr(stat_files, "decode_stat", crash)
    with pytest.raises(MalformedFileError, match="SPSS file: it cannot be decoded; it may be damaged"):
        read_table(tmp_path / "t.sav")


def test_dates_that_polars_cannot_hold_stay_numbers(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pl.DataFrame({"day": [1e18, 2.0]}), path, variable_format={"day": "DATE11"})
    assert read_table(path).frame["day"].dtype == pl.Float64


@pytest.mark.parametrize("read", [read_table, open_batches])
def test_a_gzip_bomb_is_refused_by_every_reader(tmp_path, read):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * (5 * MEGABYTE)))
    with pytest.raises(FileError, match="expands beyond 200 times its size"):
        read(tmp_path / "t.csv.gz")


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    process = decoder._Process()
    monkeypatch.setattr(decoder, "_process", process)
    yield
    process.end()


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("python", ["", "/does/not/exist", "/bin/echo", "/bin/true"])
def test_without_a_second_process_files_are_decoded_here(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that has Python inside is not started as one."""
    monkeypatch.setattr(sys, "executable", python)
    pl.DataFrame({"a": [1, 2]}).write_excel(tmp_path / "whole.xlsx")
    assert read_table(tmp_path / "whole.xlsx").frame["a"].to_list() == [1, 2]
    (tmp_path / "damaged.xlsx").write_bytes((tmp_path / "whole.xlsx").read_bytes()[:-400])
    with pytest.raises(MalformedFileError):
        read_table(tmp_path / "damaged.xlsx")


@pytest.mark.usefixtures("own_process")
def test_a_decoder_ended_by_the_system_does_not_refuse_a_parquet_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "fault_of_parquet", kill_me)
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "in.parquet")
    assert read_table(tmp_path / "in.parquet").frame["a"].to_list() == [1, 2]


def kill_me(_: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("own_process")
@pytest.mark.parametrize("ending", ["xlsx", "sav", "parquet"])
def test_a_name_without_its_folder_is_read_after_the_folder_was_left(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that decodes stays where it was started."""
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        write_table(Table(pl.DataFrame({"a": [number, 7]}), Origin(name="", format="csv")), f"in.{ending}")
        assert read_table(f"in.{ending}").frame["a"].to_list() == [number, 7]
