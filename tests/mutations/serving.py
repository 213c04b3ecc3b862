"""Faults in what is served and to whom: a page for somebody who may not see it, a flood let through, a secret told, a number wrong."""

from __future__ import annotations

from tests.mutations.mutant import mutants

SERVING = "tests/edge/serving/test_"
TELEMETRY = "tests/edge/telemetry/test_"

MUTANTS = (
    *mutants(
        "scheduler/serving/gate.py",
        f"{SERVING}gate.py {SERVING}server.py",
        ("KEPT_SECONDS = 10.0", "KEPT_SECONDS = 1000.0"),
        ("        if not token:\n", "        if False:\n"),
        ("        if user is None:\n", "        if False:\n"),
        ("if ALWAYS_ALLOWED_GROUP not in user.groups:", "if True:"),
        ("            if not verdict.is_allowed:\n", "            if verdict.denied:\n"),
        ("verb = method.lower()", "verb = method"),
        ("if not known and not (", "if not ("),
        ("self._unknown.take(peer)", "True"),
        ('self._all_unknown.take("")', "True"),
        ('f"\\0{verb}\\0{path}"', 'f"\\0{verb}"'),
        ("and not self._pages.take(who)", "and False"),
        ('if len(parts) < 2 or parts[0].lower() != "bearer"', "if len(parts) < 2"),
        ("            if not self._is_failing:\n", "            if True:\n"),
        (' + (f": {reason}" if reason else "")', ""),
    ),
    *mutants(
        "scheduler/serving/kept_answers.py",
        f"{SERVING}gate.py",
        ("            while len(self._kept) > self._at_most:\n", "            while False:\n"),
        ("            self._kept.move_to_end(key)\n            return kept.answer", "            return kept.answer"),
        ("            self._asking[key] = task\n", ""),
    ),
    *mutants(
        "scheduler/serving/pace.py",
        f"{SERVING}gate.py",
        ("left = min(self._at_once, left", "left = max(self._at_once, left"),
        ("left - 1.0 if may else left", "left"),
    ),
    *mutants(
        "scheduler/serving/certificates.py",
        f"{SERVING}certificates.py",
        ("        if pair == self._pair:\n", "        if True:\n"),
        ("        self.context = server_context(pair)\n        self._pair = pair\n", "        self._pair = pair\n"),
        ("now - self._made >= LIFE", "now - self._made >= VALID"),
        ("context.minimum_version = ssl.TLSVersion.TLSv1_2", "context.minimum_version = ssl.TLSVersion.TLSv1_3"),
        ("password=_no_password", "password='secret'"),
    ),
    *mutants(
        "scheduler/serving/server.py",
        f"{SERVING}server.py",
        ("if request.path not in OPEN_PATHS:", "if not request.path.startswith(tuple(OPEN_PATHS)):"),
        ('if path == "/metrics"}', "}"),
        ("    if not is_loopback(host.strip", "    if False and not is_loopback(host.strip"),
        ("if self._insecure is not None and not is_loopback(self._insecure.host):", "if False:"),
        ('response.headers["Cache-Control"] = "no-cache, private"', "pass"),
    ),
    *mutants(
        "scheduler/serving/listener.py",
        f"{SERVING}server.py",
        ("                self._make_room()\n", ""),
        ('if address in ("0.0.0.0", "::")', 'if address == "::"'),
    ),
    *mutants(
        "scheduler/serving/pages.py",
        f"{SERVING}server.py",
        ("        excluded = request.query", "        excluded = [] and request.query"),
    ),
    *mutants(
        "scheduler/kube/reviews.py",
        "tests/edge/kube/test_reviews.py",
        ("return status.user if status.authenticated else None", "return status.user"),
        ("ATTEMPTS = 5", "ATTEMPTS = 1"),
        ("if response.status not in (200, 201):", "if False:"),
        ('"groups": user.groups', '"groups": []'),
    ),
    *mutants(
        "scheduler/kube/request_counts.py",
        f"tests/edge/kube/test_request_counts.py {TELEMETRY}rest_client_metrics.py",
        ("self.sent_bytes[method].observe(sent)", "self.sent_bytes[method].observe(received)"),
        ("        if status:\n            self.received", "        if True:\n            self.received"),
        ("0.1, 0.25, 0.5, 1.0, 2.0, 4.0", "0.1, 0.25, 0.5, 1.0, 2.5, 4.0"),
    ),
    *mutants(
        "scheduler/telemetry/rest_client_metrics.py",
        f"{TELEMETRY}rest_client_metrics.py",
        ("str(status) if status else NO_ANSWER", "str(status)"),
        ("found[verb, one.host].append(histogram)", "found[verb, one.host] = [histogram]"),
    ),
    *mutants(
        "scheduler/telemetry/pod_resources.py",
        f"{TELEMETRY}pod_resources.py",
        ("            if amount:\n", "            if True:\n"),
        ("amount / 1000 if resource == CPU", "amount if resource == CPU"),
        ('"" if spec.priority is None else str(spec.priority)', "str(spec.priority or 0)"),
    ),
    *mutants(
        "scheduler/app/debug_pages.py",
        "tests/edge/app/test_debug_pages.py",
        ("        authorization = _authorization(options)\n", "        authorization = None\n"),
        ("    if options.insecure_skip_tls_verify:\n", "    if True:\n"),
        ('    if scheme == "https":\n', "    if True:\n"),
    ),
    *mutants(
        "scheduler/app/runtime.py",
        "tests/edge/app/test_rights_later.py",
        ("            if missing != self.missing:\n", "            if True:\n"),
        ("                self.missing = missing\n                if missing:\n", "                if missing:\n"),
    ),
    *mutants(
        "scheduler/app/serving.py",
        "tests/edge/app/test_serving.py",
        ("self._beat_at < STUCK_SECONDS", "self._beat_at < 1e9"),
        ("serving.port or serving.plain_metrics_port", "serving.port"),
    ),
)
