"""How the pages of a Parquet file are unpacked: by Arrow, and blocks of LZ4 one by one."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pyarrow as pa

_BLOCKS = 5  # of CompressionCodec: LZ4 as Hadoop writes it
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


def unpacked(packed: Any, size: int, codec: int) -> Any:
    """So many bytes, by the number of a codec of parquet.thrift; None where that is not known here."""
    if codec == _BLOCKS:
        with suppress(pa.ArrowException, OSError):
            return _of_blocks(memoryview(packed), size)
    return pa.Codec(_CODECS[codec]).decompress(packed, decompressed_size=size) if codec in _CODECS else None


def _of_blocks(packed: memoryview, size: int) -> bytes | None:
    """What blocks of LZ4 hold, each of which follows its size and that of what is packed; None of anything else.

    Arrow takes what has other sizes for one block without them, so these have to be right.
    """
    codec, parts, at = pa.Codec("lz4_raw"), list[bytes](), 0
    while len(packed) >= at + 8:
        n_bytes, n_packed = struct.unpack_from(">II", packed, at)
        block = packed[at + 8 : at + 8 + n_packed]
        size, at = size - n_bytes, at + 8 + n_packed
        if size < 0 or len(block) < n_packed or not n_bytes or _fits(codec, block, n_bytes - 1):
            return None
        parts.append(codec.decompress(block, decompressed_size=n_bytes, asbytes=True))
    return b"".join(parts) if at == len(packed) and not size else None


def _fits(codec: Any, block: memoryview, size: int) -> bool:
    with suppress(pa.ArrowException, OSError):
        codec.decompress(block, decompressed_size=size)
        return True
    return False
