"""Writes what the chart and deploy/manifests have from elsewhere: `make chart-files`.

charts/reprise/files/plugins.yaml: which rights a plugin takes, from the product. charts/reprise/files/dashboards and alerts, and
charts/reprise/crds: copies of what is in deploy/, as a chart can only pack what is in its folder. charts/reprise/README.md: the table of values, from the schema and
values.yaml. deploy/manifests: the chart with its default values, for those who do not use helm.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from scheduler.app.rights import rights_needed
from scheduler.config.configuration import from_object
from scheduler.kube.access import RIGHTS_TO_PREEMPT, Right, rights_to_patch, rights_to_watch
from scheduler.kube.resources import WATCHED, watched_resources
from scheduler.profile.plugin_set import EXTENSION_POINTS
from scheduler.profile.registry import DEFAULTS, IN_TREE

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "reprise"
MANIFESTS = ROOT / "deploy" / "manifests"
IDENTITY = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Lease", "Role", "RoleBinding")
BEGIN, END = "<!-- values: written by `make chart-files` -->", "<!-- values: end -->"

# Nothing that a plugin reads is read for the sake of these.
_WITHOUT_OBJECTS = ("queueSort", "bind", "podGroupPostFilter")
_LEAST_PLUGINS = {
    "multiPoint": {"enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}
}


def plugin_catalog() -> str:
    """The YAML from which the chart's template makes rules."""
    least = from_object(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "reprise", "plugins": _LEAST_PLUGINS}],
        }
    )
    plugins: dict[str, Any] = {}
    by_default = {one.name for one in DEFAULTS}
    for name, registration in IN_TREE.items():
        kind = registration.make
        assert isinstance(kind, type), f"{name} is made by a class"
        points = [
            point.key
            for point in EXTENSION_POINTS
            if point.extended_by is not None
            and issubclass(kind, point.extended_by)
            and point.key not in _WITHOUT_OBJECTS
        ]
        watched = [one for one in watched_resources(getattr(kind, "watches", ())) if one not in WATCHED]
        reads, writes = rights_to_watch(watched), rights_to_patch(getattr(kind, "patches", ()))
        if reads or writes or "postFilter" in points:
            plugins[name] = {"byDefault": name in by_default, "points": points, "reads": _grants(reads)}
            if writes:
                plugins[name]["writes"] = _grants(writes)
    catalog = {
        "always": _grants(rights_needed(least)),
        "points": {"postFilter": _grants(RIGHTS_TO_PREEMPT)},
        "plugins": plugins,
    }
    text = StringIO()
    yaml = YAML()
    yaml.width = 200
    yaml.default_flow_style = None
    yaml.dump(catalog, text)
    return (
        "# Written by `make chart-files` from the product: which rights a scheduler needs, and a plugin at each point.\n"
        + (text.getvalue())
    )


def _grants(rights: Iterable[Right]) -> list[dict[str, Any]]:
    verbs: dict[tuple[str, str], list[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource), []).append(right.verb)
    return [{"group": group, "resource": name, "verbs": found} for (group, name), found in verbs.items()]


# ------------------------------------------------------------------------------------------------------------ the values


def values_table() -> str:
    """A row for each value: path, default and meaning."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = YAML(typ="safe").load((CHART / "values.yaml").read_text())
    rows = ["| value | default | meaning |", "| --- | --- | --- |"]
    rows += [
        f"| `{path}` | {_shown(default)} | {text} |"
        for path, default, text in _leaves(schema, schema, values, "")
        if path != "global"
    ]
    return "\n".join(rows)


_UNSET = object()


def _leaves(
    schema: Mapping[str, Any], part: Mapping[str, Any], value: Any, path: str
) -> Iterator[tuple[str, Any, str]]:
    if "$ref" in part:
        part = schema["definitions"][part["$ref"].rpartition("/")[2]]
    inner = part.get("properties")
    if not inner or path.endswith(("plugins", "SecurityContext", "securityContext", "affinity")):
        yield path, value, part["description"]
        return
    if path in ("configuration", "repriseConfiguration"):
        yield path, value, part["description"]
    for name, one in inner.items():
        found = value.get(name, _UNSET) if isinstance(value, Mapping) else _UNSET
        yield from _leaves(schema, one, found, f"{path}.{name}".lstrip("."))


def _shown(value: Any) -> str:
    return "" if value is _UNSET else f"`{json.dumps(value)}`"


def readme() -> str:
    """The chart's README with the table as it is to be."""
    head, _, rest = (CHART / "README.md").read_text().partition(BEGIN)
    return f"{head}{BEGIN}\n{values_table()}\n{END}{rest.partition(END)[2]}"


# ------------------------------------------------------------------------------------------------------------- the files


def chart_files() -> dict[Path, str]:
    """What is to be in the chart's folder, for which no helm is needed."""
    files = {CHART / "files" / "plugins.yaml": plugin_catalog(), CHART / "README.md": readme()}
    for folder, ending in (("dashboards", "json"), ("alerts", "yaml")):
        for source in sorted((ROOT / "deploy" / folder).glob(f"*.{ending}")):
            files[CHART / "files" / folder / source.name] = source.read_text()
    # Here helm takes definitions from before it installs anything; it never changes nor deletes one.
    for source in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        files[CHART / "crds" / source.name] = source.read_text()
    return files


def copies() -> set[Path]:
    """What is in the folders of the chart that hold nothing but copies."""
    return {path for folder in ("files", "crds") for path in (CHART / folder).rglob("*.*") if path.is_file()}


def manifests(helm: Path) -> dict[Path, str]:
    """The chart with its default values: an identity with its rights, and what runs under it."""
    command: list[str | Path] = [helm, "template", "reprise", CHART, "--namespace=reprise", "--no-hooks"]
    environment = {**os.environ, "HELM_CACHE_HOME": "/nonexistent", "HELM_CONFIG_HOME": "/nonexistent"}
    rendered = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    objects = [one for one in YAML(typ="safe").load_all(rendered) if one]
    for one in objects:
        _forget_helm(one)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "reprise"}}
    identity = sorted(
        [namespace, *(one for one in objects if one["kind"] in IDENTITY)], key=lambda one: IDENTITY.index(one["kind"])
    )
    rest = [one for one in objects if one["kind"] not in IDENTITY]
    return {
        MANIFESTS / "rbac.yaml": _document(
            "The identity of Reprise, the rights that it uses, and no more, and the Lease with which its replicas elect a leader.",
            identity,
        ),
        MANIFESTS / "reprise.yaml": _document("Reprise itself, under the identity of rbac.yaml.", rest),
    }


def _forget_helm(manifest: dict[str, Any]) -> None:
    """Take away the labels that would say that helm looks after it."""
    for metadata in (manifest["metadata"], manifest.get("spec", {}).get("template", {}).get("metadata", {})):
        for label in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
            metadata.get("labels", {}).pop(label, None)


def _document(about: str, objects: Iterable[dict[str, Any]]) -> str:
    text = StringIO()
    yaml = YAML()
    yaml.width = 200
    yaml.explicit_start = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(str, _represent)
    for one in objects:
        yaml.dump(one, text)
    written = text.getvalue().removeprefix("---\n")
    return f"# {about}\n# Written by `make chart-files` from charts/reprise with its default values.\n{written}"


def _represent(representer: Any, text: str) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def main() -> int:
    """Write the files, and take away copies of what is not there any more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("helm", type=Path, help="the helm to render deploy/manifests with")
    options = parser.parse_args()
    files = chart_files()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    for path in copies() - set(files):
        path.unlink()
    for path, content in manifests(options.helm).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
