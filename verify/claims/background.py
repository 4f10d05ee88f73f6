"""Section 2 and the definition of the lift."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="def:normalpointeddag",
        title="pointed DAG",
        printed="A state s_o without incoming edges is connected to every x in X; X are the sinks.",
        readings=(
            Reading("S may be infinite; other sources may exist beside s_o.", "ill-defined"),
            Reading(
                "S is finite and s_o is the only source. Then every state is reachable and walks "
                "end in X.",
                "true",
            ),
        ),
        control="A second source, or an endless line: trajectory balance holds and p_T is "
        "(1/3, 2/3) for a uniform target.",
    ),
    Claim(
        id="eq:marginal",
        title="terminal law",
        printed="p_T(x) is the sum over trajectories to x of the product of p_F.",
        readings=(
            Reading("As printed; a law on X, and one pass over the edges computes it.", "true"),
        ),
        control="A state without children that is not in X: probability is lost.",
    ),
    Claim(
        id="def:pointeddag",
        title="lifted pointed DAG",
        printed="(s, W) is in S* iff some path of the lifted recurrence ends in it.",
        readings=(
            Reading("The path may start at any (s_o, W).", "ill-defined"),
            Reading(
                "The path starts at (s_o, W_o). Then the lift is a pointed DAG with the "
                "trajectories of G.",
                "true",
            ),
        ),
        control="Paths that start anywhere: the lift of a diamond by three latents has 3 sources, "
        "or 9.",
    ),
)
