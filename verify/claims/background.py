"""Section 2 and the definition of the lift."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="def:normalpointeddag",
        title="pointed DAG",
        printed="A unique s_o in S without incoming edges is connected to every x in X; X are the "
        "only nodes without outgoing edges.",
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
        theorems=("TwoSources.v:second_source_breaks_tb",),
    ),
    Claim(
        id="eq:marginal",
        title="terminal law",
        printed="p_T(x) is the sum over trajectories to x of the product of p_F.",
        readings=(
            Reading("As printed; a law on X, and one pass over the edges computes it.", "true"),
        ),
        control="A state without children that is not in X: probability 1/2 is lost.",
        theorems=("Normalisation.v:marginal_sums_to_one",),
    ),
    Claim(
        id="deterministic-mdp",
        title="existence of a sampler",
        printed="A deterministic MDP that generates each x in proportion to its target always "
        "exists.",
        readings=(
            Reading("Transitions are deterministic, actions are drawn from a policy.", "true"),
            Reading("Actions are deterministic as well.", "false"),
            Reading(
                "On every pointed DAG, each p_B and R > 0 give one such policy, and every policy "
                "is that of some p_B.",
                "true",
            ),
        ),
        control="A deterministic policy: a point mass, which is the uniform target iff |X| = 1.",
        theorems=(
            "Flow.v:flow_policy_balances",
            "Flow.v:balanced_policies_exist",
        ),
    ),
    Claim(
        id="def:pointeddag",
        title="lifted pointed DAG",
        printed="(s, W) is in S* iff some path of the lifted recurrence ends in it.",
        readings=(
            Reading("The path may start at any (s_o, W), or anywhere.", "ill-defined"),
            Reading(
                "The path starts at (s_o, W_o). Then the lift is a pointed DAG with the "
                "trajectories of G.",
                "true",
            ),
        ),
        control="Paths that start anywhere: the lift of a diamond by three latents has 3 sources, "
        "or 9.",
        theorems=(
            "Lift.v:unique_path_lifting",
            "Lift.v:base_surjective",
            "LatentLift.v:latent_lift_nodes",
            "LatentLift.v:latent_lift_edges",
        ),
    ),
    Claim(
        id="trees",
        title="lifts of trees",
        printed=None,
        readings=(
            Reading(
                "Every lift is the base DAG iff no inner state has two parents: on trees, so "
                "for autoregressive sequences and Lines with M = 1.",
                "true",
            ),
        ),
        control="One edge more, a second end to grow at, or steps of two: the history lift has "
        "more states.",
    ),
    Claim(
        id="lines-lift",
        title="Lines as a lift",
        printed="Lines with W_o = a_o and phi(s, a) = (w . psi(s)) v is a lift; phi does not "
        "depend on a.",
        readings=(
            Reading(
                "As printed; a_t = a_o + sum of w . psi(s_j) v over 1 <= j <= t along every path.",
                "true",
            ),
        ),
        control="phi that depends on a, or a sum from j = 0: another latent (by v/3 for the psi "
        "tested).",
    ),
)
