"""The key that signs checkpoints: Ed25519, made when it is first needed. Its public half is for everybody."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from corral.adapters.audit.files import Directory
from corral.domain.audit_checkpoints import Signed
from corral.domain.errors import RefusedError, WrongUseError

PRIVATE, PUBLIC = "signing.key", "signing.pub"
#: More than a key in PEM has.
_LARGEST = 4096
#: How much of the SHA-256 of a public key names it.
_ID_DIGITS = 16


class SigningKey:
    """The private key."""

    def __init__(self, key: Ed25519PrivateKey, *, is_new: bool) -> None:
        self._key = key
        self.id = key_id(key.public_key())
        #: It is in no file yet: `keep` puts it there.
        self.is_new = is_new

    @classmethod
    def of(cls, directory: Directory) -> SigningKey:
        """The key of a trail, or a new one if it has none. `RefusedError` if the file is not ours alone, or no key."""
        data = directory.read(PRIVATE, _LARGEST)
        if data is None:
            return cls(Ed25519PrivateKey.generate(), is_new=True)
        return cls(_private(directory, data), is_new=False)

    def keep(self, directory: Directory) -> None:
        """Put it into its file (0600), and its public half beside it."""
        if self.is_new:
            directory.put(PRIVATE, _private_pem(self._key))
            self.is_new = False
        public = public_pem(self._key.public_key())
        if directory.read(PUBLIC, _LARGEST) != public:
            directory.put(PUBLIC, public, 0o644)

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        return self._key.sign(message)

    def has_signed(self, statement: Signed) -> bool:
        """True if this key signed the statement."""
        return PublicKeys([self._key.public_key()]).check(
            statement.statement.key, statement.message, statement.signature
        )


class PublicKeys:
    """Keys to check signatures with, by their ids."""

    def __init__(self, keys: Iterable[Ed25519PublicKey]) -> None:
        self._keys = {key_id(key): key for key in keys}

    @property
    def ids(self) -> frozenset[str]:
        """What statements call them."""
        return frozenset(self._keys)

    def check(self, key: str, message: bytes, signature: bytes) -> bool:
        """True if one of these keys has this id and signed the message."""
        known = self._keys.get(key)
        if known is None:
            return False
        try:
            known.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def key_id(key: Ed25519PublicKey) -> str:
    """What statements call a key."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:_ID_DIGITS]


def public_pem(key: Ed25519PublicKey) -> bytes:
    """A public key as it is handed out."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def read_public(data: bytes, where: str, remedy: str = "corral audit key prints one") -> Ed25519PublicKey:
    """The public key that a file holds; `WrongUseError` if it is none."""
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise WrongUseError(f"{where} is no public key in PEM", remedy) from error
    if not isinstance(key, Ed25519PublicKey):
        raise WrongUseError(f"{where} is no Ed25519 key", remedy)
    return key


def read_own(data: bytes, directory: Directory) -> Ed25519PublicKey:
    """The public key beside a trail, which its writer puts back at its next start if it is none."""
    return read_public(
        data,
        os.path.join(directory.path, PUBLIC),
        "look who changed it. Give the key that you kept, with --key; or start the daemon again, which writes it anew "
        f"from {PRIVATE}",
    )


def is_keyed(directory: Directory) -> bool:
    """True if a trail was begun: its key is there, or a half of it. The halves come after the first entry."""
    return not {PRIVATE, PUBLIC}.isdisjoint(os.listdir(directory.handle))


def public_of(directory: Directory) -> bytes | None:
    """The public key of a trail, in PEM; None if it has none yet."""
    return directory.read(PUBLIC, _LARGEST)


def _private(directory: Directory, data: bytes) -> Ed25519PrivateKey:
    path = os.path.join(directory.path, PRIVATE)
    info = os.stat(PRIVATE, dir_fd=directory.handle, follow_symlinks=False)
    if info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o077:
        raise RefusedError(
            f"{path} was open to others (mode {stat.S_IMODE(info.st_mode):04o}): what it signs proves nothing",
            f"move {directory.path} away and keep it; a new trail, with a new key, begins with the next start",
        )
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise RefusedError(
            f"{path} is no key",
            f"put back the one that was there, or move {directory.path} away: a new one begins",
        )
    return key


def _private_pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
