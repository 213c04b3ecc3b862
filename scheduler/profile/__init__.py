"""A configured set of plugins, and the one way to run it over the node table."""
