"""/livez, /readyz, /metrics and /configz over HTTP."""
