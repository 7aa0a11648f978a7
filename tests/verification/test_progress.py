"""What is said while two models are compared."""

from __future__ import annotations

import pytest

from graphir.safety.counted import Count, duration, listening
from tests.verification import models


@pytest.mark.parametrize("seconds, text", [(3599, "1 h 0 min"), (89, "1 min"), (91, "2 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_a_comparison_tells() -> None:
    said: list[str] = []
    heard: list[Count] = []
    with listening(heard.append):
        report = models.held_against(models.net_source(), models.net_graph(), per_layer=True, tell=said.append)
    assert report.ok
    assert said[0] == "comparing on inputs 'normal' (1 of 4)"
    assert said[-1] == "comparing on inputs 'mask' (4 of 4)"
    total = len(report.layers)
    values = [count for count in heard if count.what == "value"]
    assert [Count("value", done, total) for done in range(total)] == values[:total]
