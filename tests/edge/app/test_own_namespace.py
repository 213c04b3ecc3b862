"""Where this scheduler runs."""

from pathlib import Path

from scheduler.app.own_namespace import own_namespace


def test_the_pods_own_word_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "namespace"
    file.write_text("from-the-service-account")
    assert own_namespace({"POD_NAMESPACE": "from-the-pod"}, file) == "from-the-pod"
    assert own_namespace({"POD_NAMESPACE": ""}, file) == "from-the-service-account"


def test_outside_of_pods_it_is_the_one_of_the_manifest(tmp_path: Path) -> None:
    assert own_namespace({}, tmp_path / "missing") == "reprise"
