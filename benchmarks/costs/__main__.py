"""Measure what repeatguard costs: ``python -m benchmarks.costs`` prints it; README.md says more."""

from __future__ import annotations

from benchmarks.costs.calls import calls
from benchmarks.costs.requests import requests
from benchmarks.costs.rounds import Pace

if __name__ == "__main__":
    for call in calls(Pace(11, 0.005)):
        print(call.model_dump_json(), call.is_met)
    for request in requests(Pace(9, 0.005)):
        print(request.model_dump_json(), request.is_met)
