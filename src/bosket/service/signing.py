"""The key that plans are signed with: Ed25519, in a file that only its owner reads."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from bosket.errors import DataError

PREFIX = b"bosket-task-v1\n"
"""What is signed begins with this, so that a signature means nothing elsewhere."""


class SigningKey:
    """Signs the text of a task."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @property
    def public(self) -> str:
        """The public key: 32 bytes in base 64."""
        return base64.b64encode(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def sign(self, text: str) -> str:
        """The signature of a task's text, in base 64."""
        return base64.b64encode(self._key.sign(PREFIX + text.encode())).decode()


def is_signed(text: str, signature: str, key: str) -> bool:
    """Whether a signature is that of the text under a public key."""
    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
        public.verify(base64.b64decode(signature, validate=True), PREFIX + text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def load_or_make(path: Path) -> SigningKey:
    """The key in a file, or a new one written there; a file that others may read is refused."""
    if not path.exists():
        key = Ed25519PrivateKey.generate()
        write_secret(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return SigningKey(key)
    try:
        found = load_pem_private_key(read_secret(path), password=None)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise DataError(f"The file {path} is no Ed25519 key in PEM.", path=path)
    return SigningKey(found)


def read_secret(path: Path) -> bytes:
    """The content of a file that only its owner may read: of the file whose mode was looked at, by whatever name."""
    try:
        with path.open("rb") as handle:
            is_open = os.fstat(handle.fileno()).st_mode & 0o077
            content = handle.read()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}.", path=path) from None
    if is_open:
        raise DataError(f"The file {path} must be readable by its owner alone.", path=path, hint=f"chmod 600 {path}")
    return content


def write_secret(path: Path, content: bytes) -> None:
    """Write a new file that only its owner reads, from its first byte on."""
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise DataError(f"Cannot write {path}: {error.strerror}.", path=path) from None
    with os.fdopen(file, "wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
