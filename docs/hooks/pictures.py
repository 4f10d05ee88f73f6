"""The pictures of the page on concepts: a small graph, its lift, and a policy on it."""

import reference as r
from reference.show import svg


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
    return {f"{name}.svg": svg(what) or "" for name, what in drawn.items()}
