from __future__ import annotations

from scheduler.framework.plugin import BindPlugin, FilterPlugin, ScorePlugin, SignPlugin
from scheduler.plugins.default_binder import DefaultBinder


def test_it_binds_and_takes_no_part_in_the_decision() -> None:
    plugin = DefaultBinder()
    assert plugin.name == "DefaultBinder"
    assert isinstance(plugin, BindPlugin)
    assert not isinstance(plugin, FilterPlugin | ScorePlugin | SignPlugin)
