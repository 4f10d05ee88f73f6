"""Section 2 and the definition of the lift."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="def:normalpointeddag",
        title="pointed DAG",
        printed="A tuple (S, X, E) with edges in S x (S u X). The elements of X are the only "
        "nodes without outgoing edges. There is a unique s_o in S without incoming edges "
        "and connected to every x.",
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
        severity=Severity.LOOSE,
    ),
    Claim(
        id="eq:marginal",
        title="terminal law",
        printed="p_T(x) is the sum over complete trajectories tau = (s_t), t = 0..T, that end in "
        "x, of the product of p_F(s_t | s_{t-1}).",
        readings=(
            Reading("As printed; a law on X, and one pass over the edges computes it.", "true"),
        ),
        control="A state without children that is not in X: probability 1/2 is lost.",
        theorems=("Normalisation.v:marginal_sums_to_one",),
    ),
    Claim(
        id="deterministic-mdp",
        title="existence of a sampler",
        printed='"There always exists a deterministic MDP that generates each complete state in '
        'proportion to a given target distribution" (introduction, after Bengio et al., '
        "2023).",
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
        printed="SG* = (S*, X, E*, phi, W_o) is SG lifted by phi: S x Omega -> Omega and W_o if "
        "(1) S* is in S x Omega and contains s_o* = (s_o, W_o); (2) (s, W) is in S* iff "
        "there is a path (s_t, W_t), t = 0..T, with (s_T, W_T) = (s, W), W_t = W_{t-1} + "
        "phi(s_t, W_{t-1}) and edges (s_{t-1}, s_t); (3), (4) edges of S* are those of SG "
        "with W' = W + phi(s', W), and ((s, W), x) for each edge (s, x).",
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
        severity=Severity.LOOSE,
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
        printed="S = P, X = Q; E is the union over i = 0..N of (p_i, p_{i+k}) for 1 <= k <= "
        "min{M, N - i} and (p_i, q_i). W_o = a_o, Omega = R^d, phi(s, a) = (w . psi(s)) "
        "v, which does not depend on a. This is a lift.",
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
