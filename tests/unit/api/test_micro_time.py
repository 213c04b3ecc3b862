"""Times to the microsecond."""

import pytest

from scheduler.api.micro_time import micro_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (1_000_000.25, "1970-01-12T13:46:40.250000Z"),
        (1_709_251_199.000001, "2024-02-29T23:59:59.000001Z"),
        # What rounds up to a second is that second.
        (1_709_251_199.9999998, "2024-03-01T00:00:00.000000Z"),
        (1_709_251_200.0, "2024-03-01T00:00:00.000000Z"),
    ],
)
def test_a_time_is_written_in_utc_with_six_digits(seconds: float, text: str) -> None:
    assert micro_time(seconds) == text
