"""Plugins that decide nothing: each only declares what it may read of a node table."""

from scheduler.framework.facet import ALL_FACETS, Facet, Input
from scheduler.framework.plugin import Plugin


class Everything(Plugin):
    name = "Everything"
    facets = ALL_FACETS
    inputs = frozenset(Input)


class Nothing(Plugin):
    name = "Nothing"


class Resources(Plugin):
    name = "Resources"
    facets = Facet.RESOURCES
