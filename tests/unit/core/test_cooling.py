"""How long a node is kept from pods of a shape."""

import pytest

from scheduler.core.cooling import Cooling


@pytest.fixture
def cooling() -> Cooling:
    """n1 has refused a pod of shape "a" at second 100."""
    cooling = Cooling()
    assert cooling.refused("a", "n1", 100.0) == 10.0
    return cooling


def test_a_node_cools_down_for_ten_seconds_and_for_that_shape_alone(cooling: Cooling) -> None:
    assert list(cooling.nodes_of("a", 109.9)) == ["n1"]
    assert list(cooling.nodes_of("a", 110.0)) == []
    assert list(cooling.nodes_of("b", 101.0)) == []


def test_each_further_refusal_doubles_the_time_up_to_five_minutes(cooling: Cooling) -> None:
    now, seconds = 110.0, []
    for _ in range(7):
        seconds.append(cooling.refused("a", "n1", now))
        now += seconds[-1]
    assert seconds == [20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]


def test_pods_that_were_on_their_way_together_count_as_one_refusal(cooling: Cooling) -> None:
    assert cooling.refused("a", "n1", 100.5) == 10.0
    assert list(cooling.nodes_of("a", 110.4)) == ["n1"]
    assert cooling.refused("a", "n1", 111.0) == 20.0


@pytest.mark.parametrize("is_looked_at", [True, False])
@pytest.mark.parametrize(("after", "seconds"), [(709.9, 20.0), (710.0, 10.0)])
def test_a_refusal_is_forgotten_ten_minutes_after_its_cool_down(
    cooling: Cooling, after: float, seconds: float, is_looked_at: bool
) -> None:
    if is_looked_at:
        cooling.expire(after)
    assert cooling.refused("a", "n1", after) == seconds


def test_what_is_over_is_let_go_once(cooling: Cooling) -> None:
    cooling.refused("a", "n2", 105.0)
    cooling.refused("b", "n1", 105.0)
    assert not cooling.expire(109.9)
    assert cooling.expire(110.0)
    assert not cooling.expire(110.0)
    assert len(cooling) == 2
    assert cooling.expire(115.0)
    assert not cooling.active
