"""The pictures of concepts (a small graph, its lift, a policy on it) and of judged losses."""

import json

import reference as r
from examples.losses.vectors import FOLDER, policy_of
from reference.looking.show import svg

# The counterexamples that are drawn, by the names of their pictures.
WRONG = {
    "hole": "replay-local-search-a-teacher-a-hole-in-the-support",
    "ppo": "plain-ppo-or-a2c-with-an-entropy-bonus-a-tree-of-three-equal-rewards",
    "prefix": "raptb-chain-of-stops",
    "ways": "soft-rl-without-correction-pcl-sql-several-ways",
}


class Fork:
    """From s by a or b to c, then to x or y: the smallest graph on which memory matters."""

    initial = "s"

    def children(self, state: str) -> tuple[str, ...]:
        """The states after a state."""
        after = {"s": ("a", "b"), "a": ("c",), "b": ("c",), "c": ("x", "y")}
        return after.get(state, ())

    def reward(self, terminal: str) -> int:
        """One for x, two for y."""
        return {"x": 1, "y": 2}[terminal]


def pictures() -> dict[str, str]:
    """Each as SVG, by the name of its file."""
    dag = r.enumerate_dag(Fork())
    lifted = r.lift(dag, r.History())
    p_b = r.BackwardPolicy.uniform(lifted.dag, r.RATIONAL)
    p_f, _ = r.forward_from_backward(p_b, r.enumerate_rewards(Fork(), dag))
    drawn = {"graph": dag, "lift": lifted, "policy": p_f}
    for name, file in WRONG.items():
        drawn[name] = policy_of(json.loads((FOLDER / f"{file}.json").read_text()))
    return {f"{name}.svg": svg(what) or "" for name, what in drawn.items()}
