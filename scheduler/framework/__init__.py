"""The plugin contract: what a plugin is given, what it answers, and the arithmetic to write a rule once for rows and columns."""
