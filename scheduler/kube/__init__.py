"""The edge to the Kubernetes API: watch events become stimuli, instructions become API calls.

The only importer of the ``kubernetes`` package and of the HTTP client. Everything here runs in one event loop; retries and
waiting live here and nowhere else.
"""
