"""The image's archive writer and its SBOM say what is there."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.docs.checkout import pyproject, text
from tools.image.archive import write_archive
from tools.image.sbom import document, locked, python_version

LOCK = """\
first-thing==1.2.3 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
    # via something
old==1 ; python_full_version < '3.12' \\
    --hash=sha256:{a}
new==2 ; python_full_version >= '3.12' \\
    --hash=sha256:{b}
""".format(a="a" * 64, b="b" * 64)


def test_an_archive_has_one_image_of_one_layer_that_belongs_to_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "tool").write_text("content")
    (root / "bin" / "link").symlink_to("tool")

    write_archive(
        tmp_path / "image.tar", "name:tag", root, machine="x86_64", environment=["A=b"], user="1:1", command=["tool"]
    )

    with tarfile.open(tmp_path / "image.tar") as archive:
        [image] = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        configuration = json.load(archive.extractfile(image["Config"]))  # type: ignore[arg-type]
        layer = archive.extractfile(image["Layers"][0]).read()  # type: ignore[union-attr]
    assert image["RepoTags"] == ["name:tag"]
    assert configuration["config"] == {"Env": ["A=b"], "User": "1:1", "Cmd": ["tool"]}
    assert (configuration["os"], configuration["architecture"]) == ("linux", "amd64")
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as files:
        members = {member.name: member for member in files}
        assert files.extractfile("./bin/tool").read() == b"content"  # type: ignore[union-attr]
    assert members["./bin/link"].linkname == "tool"
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.tar", "root"]


def test_an_unknown_machine_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no image architecture is known for the machine vax; known are"):
        write_archive(tmp_path / "image.tar", "name:tag", tmp_path, machine="vax")


@pytest.mark.parametrize(("python", "other"), [("3.11", ("old", "1")), ("3.12", ("new", "2"))])
def test_a_lock_is_read_for_one_python(python: str, other: tuple[str, str]) -> None:
    found = {(name, version): hashes for name, version, hashes in locked(LOCK, python)}

    assert set(found) == {("first-thing", "1.2.3"), other}
    assert [each["content"] for each in found["first-thing", "1.2.3"]["hashes"]] == ["a" * 64, "b" * 64]


def test_a_package_without_a_digest_is_refused() -> None:
    with pytest.raises(ValueError, match="the lock has no digest for 'loose==1'"):
        list(locked("loose==1\n", "3.11"))


def test_the_sbom_lists_every_locked_package_and_the_product() -> None:
    sbom = document()
    names = {component["name"] for component in sbom["components"]}
    project = pyproject()["project"]

    assert python_version() == "3.11"
    assert {"aiohttp", "kubernetes", "numpy", "tzdata"} <= names
    assert len(names) == len(sbom["components"])
    locked_names = {line.partition("==")[0] for line in text("requirements/runtime.txt").splitlines() if "==" in line}
    assert locked_names - names <= {"colorama", "pywin32"}  # what only other systems need
    product = sbom["metadata"]["component"]
    assert (product["purl"], product["licenses"]) == (
        f"pkg:pypi/{project['name']}@{project['version']}",
        [{"license": {"id": "Apache-2.0"}}],
    )
    references = {each["ref"] for each in sbom["dependencies"]}
    assert references == {product["bom-ref"], *(component["bom-ref"] for component in sbom["components"])}
