"""ApiObject: how the objects of the Kubernetes API are declared here."""

from __future__ import annotations

import msgspec


class ApiObject(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Base of every struct of the API: camelCase on the wire, defaults left out when written."""
