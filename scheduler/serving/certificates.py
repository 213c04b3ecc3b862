"""The certificate of the HTTPS port: given as files, which are read again when they change, or our own, made in memory."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from cryptography import x509

VALID = timedelta(days=365)
LIFE = timedelta(days=270)
"""A certificate of our own is replaced by a new one at this age."""
EARLIER = timedelta(hours=1)
"""Clocks differ."""


class CertificateError(Exception):
    """A certificate and key that cannot be used; the text names the file and says what is wrong."""


class Pair(NamedTuple):
    """A certificate, with those that lead to its authority behind it, and its private key, in PEM."""

    certificate: bytes
    key: bytes


class Source(Protocol):
    """Where the certificate comes from."""

    def read(self) -> Pair:
        """The one to use from now on; equal to the last one when that is still it.

        Raises:
            CertificateError: there is none.
        """


class FilesOnDisk:
    """Files that somebody else renews: a mounted Secret, whose files are links that are moved all at once."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key

    def read(self) -> Pair:
        return Pair(_content(self._certificate, "serving.certFile"), _content(self._key, "serving.privateKeyFile"))


class SelfSigned:
    """A certificate that is its own authority, for who does not look at it or trusts on first use.

    Args:
        names: DNS names and addresses of this server.
    """

    def __init__(self, names: Sequence[str], now: Callable[[], datetime]) -> None:
        self._names = names
        self._now = now
        self._made: datetime | None = None
        self._pair = Pair(b"", b"")

    def read(self) -> Pair:
        now = self._now()
        if self._made is None or now - self._made >= LIFE:
            self._pair, self._made = self_signed(self._names, now), now
        return self._pair


class Certificate:
    """What is shown to whoever connects; ``look`` at its source now and then."""

    def __init__(self, source: Source) -> None:
        """Read it.

        Raises:
            CertificateError: it cannot be used.
        """
        self._source = source
        self._pair = source.read()
        self.context = server_context(self._pair)

    def look(self) -> bool:
        """Whether there was a new one, which is taken into use for new connections.

        Raises:
            CertificateError: the new one cannot be used; the old one is kept.
        """
        pair = self._source.read()
        if pair == self._pair:
            return False
        self.context = server_context(pair)
        self._pair = pair
        return True


def server_context(pair: Pair) -> ssl.SSLContext:
    """TLS 1.2 and later.

    Raises:
        CertificateError: certificate and key cannot be read or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        with _as_file(pair.certificate + b"\n" + pair.key) as path:
            context.load_cert_chain(path, password=_no_password)
    except ssl.SSLError as error:
        said = error.reason or str(error)
        raise CertificateError(f"serving.certFile and serving.privateKeyFile cannot be used: {said}") from error
    return context


def _no_password() -> str:
    raise CertificateError("serving.privateKeyFile: the key is encrypted; give one that is not")


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A file that is nowhere on disk: OpenSSL takes nothing else, and there may be no place to write to."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - it has no path
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"


def _content(path: Path, field: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{field}: {path}: {error.strerror}") from error


def self_signed(names: Sequence[str], now: datetime) -> Pair:
    """A new key (P-256) and its certificate, valid for a year."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "reprise")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([_name(one) for one in dict.fromkeys(names)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def utc_now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)
