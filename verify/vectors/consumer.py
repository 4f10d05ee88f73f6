"""Recomputes the marginals and trajectory-balance residuals of these vectors, exactly."""

import json
import sys
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any


def differing(case: dict[str, Any]) -> list[str]:
    states, edges, terminals = (case["graph"][key] for key in ("states", "edges", "terminals"))
    p_f, p_b, flow = (list(map(Fraction, case[key])) for key in ("p_f", "p_b", "flow"))
    reward = dict(zip(terminals, map(Fraction, case["rewards"]), strict=True))
    visits = [Fraction(state == case["graph"]["initial"]) for state in range(len(states))]
    for (u, v), p in zip(edges, p_f, strict=True):  # every edge after those into its parent
        visits[v] += visits[u] * p
    residuals = []
    for tau in case["trajectories"]:  # the numbers of the edges
        weight = reward[edges[tau[-1]][1]] * prod(p_b[e] for e in tau)
        residuals.append(flow[0] * prod(p_f[e] for e in tau) - weight)
    marginal = [visits[x] for x in terminals]
    found = {"state_visits": visits, "marginal": marginal, "tb": residuals}
    return [key for key in found if found[key] != list(map(Fraction, case["expected"][key]))]


if __name__ == "__main__":
    folder, cases, wrong = Path(__file__).parent, 0, 0
    for file in json.loads((folder / "manifest.json").read_text())["files"]:
        if file["kind"] == "sampler":
            for case in json.loads((folder / file["path"]).read_text())["cases"]:
                cases += 1
                for key in differing(case):
                    wrong += 1
                    print(f"{file['path']}: {case['id']}: {key} differs")
    print(f"{cases} cases, {wrong} differences")
    sys.exit(wrong > 0 or cases == 0)
