"""Results on posteriors over directed acyclic graphs, which tell how far a sampler is from one."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="dag-sums",
        title="sums over all directed acyclic graphs",
        printed=None,
        readings=(
            Reading(
                "A(S) = sum over non-empty T of S of (-1)^(|T|+1) A(S - T) prod over v in T of "
                "W_v(S - T), A({}) = 1, is the sum over the DAGs on S of prod over v of w_v(Pa_v); "
                "W_v(U) is the sum of w_v over the sets in U.",
                "true",
            ),
            Reading("The same without signs.", "false"),
            Reading(
                "H(U) = sum over non-empty T outside of U of (-1)^(|T|+1) H(U + T) prod over v in "
                "T of W_v(U), H(V) = 1, is the sum over what may follow U, and H({}) = A(V).",
                "true",
            ),
        ),
        control="Without signs two nodes have 5 graphs, not 3. One weight of 448 changed by one is "
        "seen.",
    ),
    Claim(
        id="dag-marginals",
        title="edges, ancestors and exact draws of a weighted DAG",
        printed=None,
        readings=(
            Reading(
                "The sum over the DAGs with the edge u to v is sum over U of D_v(U) (W_v(U) - "
                "W_v(U - u)), with D_v the derivative of A(V) by W_v(U).",
                "true",
            ),
            Reading("Edges are as probable as in their families by themselves.", "false"),
            Reading(
                "The sum over the DAGs in which u reaches v is the sum over D with u and v of "
                "A(V - D) W_u(V - D) G(V - D + u, {u}), and a DAG drawn layer by layer in "
                "proportion to G has the law of the weights.",
                "true",
            ),
        ),
        control="Two nodes: an edge is in 1 of 3 graphs, and in 1 of 2 families. H for G: more "
        "than all graphs.",
    ),
)
