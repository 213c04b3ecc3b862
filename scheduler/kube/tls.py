"""How the API server is trusted, and how connections to it are spared most of a TLS handshake."""

from __future__ import annotations

import os
import ssl
import tempfile

from scheduler.kube.credentials import CredentialsError, Endpoint


class ResumingContext(ssl.SSLContext):
    """A client's context that begins each connection with the session of an earlier one, for connections to one server only.

    With a session the certificates are not sent and checked again. A server that does not know it any more asks for the handshake in full.
    """

    session: ssl.SSLSession | None = None

    def wrap_bio(  # what event loops call for a connection; they take no session themselves
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session or self.session)


def tls_context(endpoint: Endpoint) -> ResumingContext:
    """Trust the cluster's own authority alone when there is one, as every Kubernetes client does.

    Raises:
        CredentialsError: a certificate or key cannot be used.
    """
    context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    context.hostname_checks_common_name = False
    # An authority that is itself issued by another one is as good as a root: it is the one that was named.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not endpoint.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        if endpoint.ca_pem:
            context.load_verify_locations(cadata=endpoint.ca_pem.decode("ascii", "ignore"))
        else:
            context.load_default_certs()
        if endpoint.identity_pem:
            # There is no other way in than a file.
            with tempfile.NamedTemporaryFile() as file:
                file.write(endpoint.identity_pem)
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, OSError) as error:
        raise CredentialsError(f"{endpoint.url}: {text_of(error)}") from error
    return context


def text_of(error: Exception) -> str:
    """What went wrong, in one form whatever the event loop."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"invalid peer certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return error.reason or str(error)
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return f"{os.strerror(error.errno)} (os error {error.errno})"
    return str(error) or type(error).__name__
