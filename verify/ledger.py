"""The ledger: what the paper claims, how we read it, and what became of it."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal[
    "verified",
    "repaired, then verified",
    "refuted as printed; repaired, then verified",
    "vacuous as printed; repaired, then verified",
]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        label: the LaTeX label in the paper.
        printed: the statement as printed, in brief.
        reading: the statement that is checked, where it differs.
        verdict: what became of it.
        control: what is broken on purpose, and what must then be seen.
        file: the test file, with the proof in its docstring.
    """

    label: str
    printed: str
    reading: str
    verdict: Verdict
    control: str
    file: str


CLAIMS = (
    Claim(
        "def:normalpointeddag",
        "A state s_o without incoming edges is connected to every x in X; X are the sinks.",
        "S is finite and s_o is the only source. Then every state is reachable and walks end in X.",
        "repaired, then verified",
        "A second source: trajectory balance holds and p_T is (1/3, 2/3) for a uniform target.",
        "test_def_normalpointeddag.py",
    ),
    Claim(
        "def:pointeddag",
        "(s, W) is in S* iff some path of the lifted recurrence ends in it.",
        "The path starts at (s_o, W_o). Then the lift is a pointed DAG with the trajectories of G.",
        "repaired, then verified",
        "Paths that start anywhere: the lift of a diamond by three latents has 3 sources, or 9.",
        "test_def_pointeddag.py",
    ),
    Claim(
        "eq:marginal",
        "p_T(x) is the sum over trajectories to x of the product of p_F.",
        "As printed; it is a law on X, and one pass over the edges computes it.",
        "verified",
        "A state without children that is not in X: probability is lost.",
        "test_eq_marginal.py",
    ),
    Claim(
        "col:tb",
        "F(s_o*) p_F(tau) = R(x) p_B(tau|x) for every trajectory implies p_T proportional to R.",
        "As printed, for p_B of mass 1 at every x; then F(s_o*) = Z.",
        "verified",
        "Mass that varies with x: p_T is (2/3, 1/3) for a uniform target. One edge changed.",
        "test_cor_tb.py",
    ),
    Claim(
        "col:cb",
        "p_F(tau) p_B(tau'|x') R(x') = p_F(tau') p_B(tau|x) R(x), for all tau = (s_t*) and "
        "tau' = (s_t'*) with t = 0..T, implies p_T proportional to R.",
        "For pairs of trajectories of any two lengths T and T'.",
        "refuted as printed; repaired, then verified",
        "Only pairs of equal length: satisfied by p_T = (9/10, 1/10) for a uniform target.",
        "test_cor_cb.py",
    ),
    Claim(
        "prop:markovian",
        "If p_B(s*|s'*) = p~_B(s|s') on the lift, a balanced p_F is Markovian.",
        "If p_B(tau|x) is the product of p~_B along tau, p_F is Markovian on the states it visits; "
        "with R, p~_B > 0 these are all. The printed hypothesis forces the trivial lift.",
        "vacuous as printed; repaired, then verified",
        "A zero of p~_B, or p~_B that depends on x: the balanced p_F depends on the path.",
        "test_prop_markovian.py",
    ),
)
