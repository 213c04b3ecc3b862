"""Asks a running scheduler for one of its pages, as somebody."""

from __future__ import annotations

import argparse
import contextlib
import ssl
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from scheduler.kube.credentials import CredentialsError, load_credentials

ANSWER_SECONDS = 120.0
DEFAULT_URL = "https://127.0.0.1:10259"


def ask(options: argparse.Namespace, page: str, *, setting: str) -> bytes:
    """The page's body. A token is shown over HTTPS only.

    Args:
        setting: what serves the page, when it is not there.

    Raises:
        ValueError: the address is none, a file cannot be used, or the answer is not the page; the text says what to do.
        OSError: there is no answer.
    """
    scheme = urlsplit(options.url).scheme
    if scheme not in ("http", "https"):
        raise ValueError(f"--url {options.url}: expected an address such as {DEFAULT_URL}")
    request = urllib.request.Request(options.url.rstrip("/") + page)  # noqa: S310 - checked
    context = None
    if scheme == "https":
        context = _tls(options)
        authorization = _authorization(options)
        if authorization:
            request.add_unredirected_header("Authorization", authorization)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS, context=context) as answer:  # noqa: S310 - checked
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        said = error.read(1000).decode(errors="replace").strip()
        raise ValueError(_advice(options.url, page, error.code, said, setting)) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise ValueError(  # noqa: TRY004 - it is a value all the same
                f"{options.url}: {error.reason.verify_message}; give --certificate-authority FILE, or "
                "--insecure-skip-tls-verify where it has made its certificate itself and nobody can stand between"
            ) from error
        raise OSError(f"{options.url} does not answer: {error.reason}") from error


def _advice(url: str, page: str, code: int, said: str, setting: str) -> str:
    if code == 404:
        return f"{url} has no page {page}: it takes `{setting}` in its configuration"
    if code == 401:
        return f"{url}{page} answers 401: it wants a token that the API server knows; give --token-file FILE or --kubeconfig FILE"
    return f"{url}{page} answers {code}: {said}"


def _tls(options: argparse.Namespace) -> ssl.SSLContext:
    authority = options.certificate_authority
    try:
        context = ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"--certificate-authority {authority}: {error}") from error
    if options.insecure_skip_tls_verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _authorization(options: argparse.Namespace) -> str | None:
    if options.token_file is not None:
        try:
            return f"Bearer {options.token_file.read_text(encoding='utf-8').strip()}"
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"--token-file {options.token_file}: {error}") from error
    if options.kubeconfig is not None:
        try:
            return load_credentials(options.kubeconfig).authorization()
        except CredentialsError as error:
            raise ValueError(str(error)) from error
    with contextlib.suppress(CredentialsError):
        return load_credentials().authorization()
    return None
