"""The HTTPS port of a Kubernetes program that makes its own certificate: ready or not, and its pages."""

from pathlib import Path

from tests.support.api_client import ApiClient, ApiError
from tests.support.control_plane import ControlPlane, extract_ca


class SecurePort:
    """What serves at a port of loopback, asked as somebody who may read all pages."""

    def __init__(self, control_plane: ControlPlane, port: int, *, certificate: Path) -> None:
        """The program writes its certificate, with the CA behind it, to `certificate` when it starts."""
        self._certificate = certificate
        self.ca_file = certificate.with_name("ca.crt")
        self.address = f"127.0.0.1:{port}"
        self._token = control_plane.token("admin")
        self._client: ApiClient | None = None

    def is_ready(self, path: str) -> bool:
        """Whether the page of this path says ok."""
        if not (self.ca_file.exists() or extract_ca(self._certificate, self.ca_file)):
            return False
        try:
            return self.page(path) == "ok"
        except (ApiError, OSError):
            return False

    def page(self, path: str) -> str:
        """A page, once there is a certificate: /metrics, /configz, ..."""
        if self._client is None:
            self._client = ApiClient(f"https://{self.address}", ca_file=self.ca_file, token=self._token)
        return self._client.text(path)

    def close(self) -> None:
        """Close the connections at rest."""
        if self._client is not None:
            self._client.close()
