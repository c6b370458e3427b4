"""Content that is packed inside files: the pages of Parquet."""

from __future__ import annotations

import pyarrow as pa

ZSTD = b"\x28\xb5\x2f\xfd"


def zstd_frames(raw: bytes) -> list[tuple[int, bytes]]:
    """Where frames of zstd begin in a file, and what each of them unpacks to."""
    frames, place = [], raw.find(ZSTD)
    while place >= 0:
        unpacked = b""
        with pa.input_stream(pa.BufferReader(raw[place:]), compression="zstd") as stream:
            try:
                while part := stream.read(1 << 12):
                    unpacked += part
            except OSError:  # what follows the frame is no frame
                pass
        frames.append((place, unpacked))
        place = raw.find(ZSTD, place + 1)
    return frames
