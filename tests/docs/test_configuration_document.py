"""docs/configuration.md says what the configuration is."""

import re

from scheduler.config.configuration import load
from scheduler.config.decoding import encode
from scheduler.config.reprise_document import RepriseConfiguration
from scheduler.profile.registry import DEFAULTS, IN_TREE, default_selection
from tests.docs.checkout import text

DOCUMENT = "docs/configuration.md"


def table(first_column: str) -> list[list[str]]:
    """The rows of the table whose header starts with this column."""
    rows = text(DOCUMENT).split(f"| {first_column} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().replace("`", "") for cell in row.strip("|").split("|")] for row in rows]


def test_the_example_is_a_configuration(tmp_path) -> None:
    example = re.findall(r"```yaml\n(.*?)```", text(DOCUMENT), re.DOTALL)[0]
    file = tmp_path / "packing.yaml"
    file.write_text(example)

    found = load(file)

    assert dict(found.profiles[0].plugins.weights)["NodeResourcesFit"] == 5
    assert "score=TaintToleration*3,NodeAffinity*2,NodeResourcesFit*5" in text(DOCUMENT)
    assert found.reprise.logging.format == "console"


def test_the_default_plugins_are_listed_in_order_with_weights_and_arguments() -> None:
    expected = []
    for plugin in default_selection(IN_TREE).enabled:
        args = IN_TREE[plugin.name].args
        fields = ", ".join(encode(args())) if args is not None else ""
        expected.append([plugin.name, str(plugin.weight or ""), fields])

    assert table("plugin") == expected


def test_plugins_that_are_not_there_yet_are_named() -> None:
    named = re.search(r"do not exist yet:\s(.*?), and those behind", text(DOCUMENT), re.DOTALL)

    assert named is not None
    assert named[1].replace("\n", " ").split(", ") == [one.name for one in DEFAULTS if one.name not in IN_TREE]


def test_every_field_of_our_own_document_is_listed_with_its_default() -> None:
    listed = {name: default for name, default, _ in table("field | default")}
    sections = encode(RepriseConfiguration())

    expected = {f"{section}.{name}": value for section, fields in sections.items() for name, value in fields.items()}
    assert listed == {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in expected.items()
    }
