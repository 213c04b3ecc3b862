"""Composition root: the command line, the loop, start and stop order."""
