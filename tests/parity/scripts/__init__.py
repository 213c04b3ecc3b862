"""All scripts, in the order in which they are told."""

from tests.parity.scripts import extenders, habits, lives, neighbours, nodes, preemption, resources, volumes
from tests.parity.story import Script

MODULES = (resources, nodes, neighbours, lives, volumes, preemption, habits, extenders)
SCRIPTS: tuple[Script, ...] = tuple(script for module in MODULES for script in module.STORIES.scripts)
