"""The certificate of the HTTPS port: its own, or files that change."""

from __future__ import annotations

import ssl
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scheduler.serving.certificates import (
    Certificate,
    CertificateError,
    FilesOnDisk,
    Pair,
    SelfSigned,
    self_signed,
    server_context,
    utc_now,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TODAY = utc_now()


def write(folder: Path, pair: Pair) -> FilesOnDisk:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return FilesOnDisk(folder / "tls.crt", folder / "tls.key")


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> str | None:
    """The version of TLS that both speak, without a socket between them."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    left = [theirs, ours]
    for _ in range(10):
        for one in tuple(left):
            try:
                one.do_handshake()
                left.remove(one)
            except ssl.SSLWantReadError:
                pass
        if not left:
            return theirs.version()
    raise AssertionError("they wait for each other")


def trusting(pair: Pair) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=pair.certificate.decode())


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_a_certificate_of_our_own_proves_each_of_its_names_to_who_trusts_it(name: str) -> None:
    pair = self_signed(["localhost", "127.0.0.1", "::1"], TODAY)

    assert shake_hands(server_context(pair), trusting(pair), name) == "TLSv1.3"


def test_it_proves_no_other_name() -> None:
    pair = self_signed(["localhost"], TODAY)

    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(server_context(pair), trusting(pair), "example.com")


def test_tls_1_2_is_spoken_and_nothing_older() -> None:
    pair = self_signed(["localhost"], TODAY)
    client = trusting(pair)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert shake_hands(server_context(pair), client, "localhost") == "TLSv1.2"

    client.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore"):
        client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError, match=r"UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION"):
        shake_hands(server_context(pair), client, "localhost")


def test_one_of_our_own_is_replaced_before_it_ends() -> None:
    now = [NOW]
    certificate = Certificate(SelfSigned(["localhost"], lambda: now[0]))
    assert not certificate.look()
    now[0] += timedelta(days=269)
    assert not certificate.look()
    now[0] += timedelta(days=1)
    assert certificate.look()
    assert not certificate.look()


def test_files_that_change_are_taken_into_use(tmp_path: Path) -> None:
    first, second = self_signed(["localhost"], TODAY), self_signed(["localhost"], TODAY)
    certificate = Certificate(write(tmp_path, first))
    assert shake_hands(certificate.context, trusting(first), "localhost")

    write(tmp_path, second)
    assert certificate.look()
    assert shake_hands(certificate.context, trusting(second), "localhost")


def test_files_that_do_not_belong_together_leave_the_old_ones_in_use(tmp_path: Path) -> None:
    first, second = self_signed(["localhost"], TODAY), self_signed(["localhost"], TODAY)
    certificate = Certificate(write(tmp_path, first))

    write(tmp_path, Pair(second.certificate, first.key))
    with pytest.raises(CertificateError, match=r"serving\.certFile and serving\.privateKeyFile cannot be used"):
        certificate.look()
    assert shake_hands(certificate.context, trusting(first), "localhost")
    write(tmp_path, second)
    assert certificate.look()


@pytest.mark.parametrize(("name", "field"), [("tls.crt", "certFile"), ("tls.key", "privateKeyFile")])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str, field: str) -> None:
    source = write(tmp_path, self_signed(["localhost"], TODAY))
    (tmp_path / name).unlink()

    with pytest.raises(CertificateError, match=rf"serving\.{field}: .*{name}: No such file"):
        Certificate(source)


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_a_password() -> None:
    from cryptography.hazmat.primitives import serialization

    pair = self_signed(["localhost"], TODAY)
    key = serialization.load_pem_private_key(pair.key, None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )

    with pytest.raises(CertificateError, match="the key is encrypted"):
        server_context(Pair(pair.certificate, key))
