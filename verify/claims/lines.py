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
        id="fig:linestraining",
        title="the fit of Laplace mixtures",
        printed="With psi(p_i) = i for 1 <= i <= N, N = 16, M = 1, the path-dependent policy is a "
        "near-perfect fit of a mixture of Laplaces centred in 1..N.",
        readings=(
            Reading("psi(p_0) = 0: TV >= 0.3113 for every target and every parameter.", "false"),
            Reading(
                "psi(p_0) = 0 forces p_T(q_0) = 1/2, so that TV >= 1/2 - pi(q_0), sharp if nothing "
                "else is forced; psi(p_0) != 0 leaves it free.",
                "true",
            ),
        ),
        control="psi(p_0) != 0: p_T(q_0) is 1 / (1 + 2^a) for log-odds a log 2. A free first stop: "
        "TV = 0 is possible.",
    ),
    Claim(
        id="subsec:relu",
        title="universality of ReLU networks",
        printed="With f_i(x) = max(W_i x, 0), f_1 o f_2 can approximate any continuous function "
        "from R^{d_o} to R^{d_2} for d_1 large.",
        readings=(
            Reading(
                "As printed, without biases (and f_1 after f_0: f_1 o f_2 starts from R^{d_2}): "
                "f(t x) = t f(x) for t >= 0.",
                "false",
            ),
            Reading("With biases, and a ReLU after the last layer: f >= 0.", "false"),
            Reading("With biases and a linear last layer, on compact sets.", "true"),
        ),
        control="Without biases 2 - x is missed on [1, 2] by 2/3, and logits on Lines are linear "
        "in k. One bias: f(1) = 2, f(2) = 3.",
    ),
    Claim(
        id="eq:max_kl",
        title="aliasing of neighbours on sparse Lines",
        printed="The optimal p_F at p_2 and p_3 differ significantly, by the largest "
        "KL[p_F(.|p_3, tau') || p_F(.|p_2, tau)] over histories.",
        readings=(
            Reading("Laws on the next state: KL is infinite where p_3 may stop.", "ill-defined"),
            Reading("Laws of actions, the optimum for any p_B: KL may be 0.", "false"),
            Reading(
                "Laws of actions, uniform p_B, N = 25: KL is 0.892 nats. For any p_B, "
                "p_F(q_i|p_i) >= R(q_i) / Z.",
                "true",
            ),
        ),
        control="A positive p_B for which both laws are (143/289, 143/289000, 145857/289000). "
        "Laws on states: infinite.",
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
