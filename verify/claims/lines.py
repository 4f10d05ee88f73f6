"""Section 3, linear policies: what they can express on Lines."""

from verify.claims.record import Claim, Reading

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="fig:lines",
        title="the Lines environment",
        printed="From p_k one moves to p_{k+1}, ..., p_{k+M}, as far as p_N, or stops at q_k: a "
        "pointed DAG, with M = 1 a one-dimensional hypergrid.",
        readings=(Reading("As printed. A tree iff M = 1 or N = 1.", "true"),),
        control="Without p_0 -> q_0 there are two sources, without p_1 -> q_1 half of the law is "
        "lost; with N = M = 2 there are two ways to p_2.",
    ),
    Claim(
        id="eq:lines",
        title="trajectory balance on Lines",
        printed="The product of p_F over that of p_B is R(q_{i_k}) / Z, for each increasing "
        "sequence 0 = i_0 < ... < i_k with steps of at most M.",
        readings=(
            Reading("As printed, for a normalised p_B: then p_T is R / Z, and Z = sum R.", "true"),
        ),
        control="A p_B of weights 1 counts paths: p_T is (1/4, 1/4, 1/2) for a uniform target, "
        "N = M = 2. One changed stop.",
    ),
    Claim(
        id="eq:policya",
        title="linear policies and their mask",
        printed="p_F(p_{i+k} | p_i, W) = softmax((W psi(p_i)) * m)_k, W in R^(d x (M+1)), "
        "m in {1, -inf}^(M+1).",
        readings=(
            Reading("W psi with the printed shape, masked by a product.", "ill-defined"),
            Reading("W in R^((M+1) x d), masked by a product.", "ill-defined"),
            Reading(
                "W in R^((M+1) x d), a mask in {0, -inf} is added, and the last action stops: the "
                "soft-max over what is allowed.",
                "true",
            ),
        ),
        control="The product with logits (2, -1, 0) is (2, inf, NaN); it is the mask meant only if "
        "all blocked logits are positive.",
    ),
    Claim(
        id="eq:linear_rec",
        title="the linear recursion",
        printed="W_t = b a_t', a_t = a_{t-1} + (w . psi(s_t)) v; in the proof, a_i = a_o + "
        "(w . c_i) v with c_i the sum of psi(p_j) over 0 <= j <= i.",
        readings=(
            Reading("W_t in R^(d x (M+1)), as eq:policya has it.", "ill-defined"),
            Reading("c_i as the proof defines it, with psi(p_0).", "false"),
            Reading(
                "W_t in R^((M+1) x d): an additive lift from W_o = a_o, with c_t the sum of the "
                "embeddings of s_1, ..., s_t.",
                "true",
            ),
        ),
        control="The sums of the printed proof: 2, 6, 12 (psi(p_i) for psi(p_j)) and 0, 1, 3 "
        "(i (i - 1) / 2) for 1, 3, 6.",
    ),
    Claim(
        id="prop:lines",
        title="expressivity of linear policies",
        printed="dim span W_M <= dim span W_P for almost every b and all psi, and < for some psi, "
        "including psi(p_i) = i.",
        readings=(
            Reading("Linear spans of laws: equal for every psi.", "false"),
            Reading("Affine spans of laws: equal for every psi.", "false"),
            Reading("The first part alone, in either span: equality.", "true"),
            Reading("Text: the set of laws is strictly larger, for any psi and N.", "false"),
            Reading("Proof: every law with log-odds in C + span H is reached.", "false"),
            Reading(
                "Sets of laws, their manifolds, and spans of log-odds: <= always; and each is < "
                "iff span H is not in C, for psi(p_i) = i iff N >= 3.",
                "true",
            ),
        ),
        control="Smallest cases: 1 = 1 at N = 1 and 2 = 2 at N = 2 where < is printed; b_1 = b_2 "
        "gives 4 > 1; o = (0, 1, 0, 1, 1) is not reached at d = 2, N = 5.",
    ),
    Claim(
        id="N8",
        title="expressivity counts",
        printed=None,
        readings=(
            Reading(
                "Laws span 1 + #{i : psi(p_i) != 0} dimensions, with and without memory. Log-odds: "
                "rank [Psi | H] against r = rank Psi. Manifolds: generically min(3 r - 1, that "
                "rank) against r.",
                "true",
            ),
        ),
        control="Zeros of psi lower both spans, from 5 to 3 for N = 4; b_1 = b_2 leaves one law.",
    ),
)
