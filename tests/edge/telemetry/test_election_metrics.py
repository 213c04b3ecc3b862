"""Metrics of the leader election, in client-go's names."""

from scheduler.telemetry.election_metrics import LeaderElectionCollector
from scheduler.telemetry.metrics import registry, render


def test_leading_and_slow_renewals_show_under_the_name_of_the_lease() -> None:
    leads, slow_paths = False, 0
    made = registry(LeaderElectionCollector("reprise", is_leader=lambda: leads, slow_paths=lambda: slow_paths))

    def shown() -> list[str]:
        lines = render(made).decode().splitlines()
        return [line for line in lines if line.startswith("leader_election")]

    assert shown() == [
        'leader_election_master_status{name="reprise"} 0.0',
        'leader_election_slowpath_total{name="reprise"} 0.0',
    ]
    leads, slow_paths = True, 3
    assert shown() == [
        'leader_election_master_status{name="reprise"} 1.0',
        'leader_election_slowpath_total{name="reprise"} 3.0',
    ]
