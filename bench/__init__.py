"""Reprise beside kube-scheduler on one API server: how fast, at what cost, and whether both kept to the rules.

``python -m bench compare`` measures, ``python -m bench report`` writes docs/benchmarks.md from what was measured. It is part
of the checkout, not of what is installed.
"""
