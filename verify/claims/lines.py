"""Section 3, linear policies: what they can express on Lines."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="fig:lines",
        title="the Lines environment",
        printed="P = {p_0, ..., p_N}, Q = {q_0, ..., q_N}. From p_k an agent moves to p_{k+j}, 1 "
        "<= j <= min(M, N - k), or stops at q_k; S = P and X = Q in the sense of "
        "def:normalpointeddag. With M = 1 this is a one-dimensional hypergrid.",
        readings=(Reading("As printed. A tree iff M = 1 or N = 1.", "true"),),
        control="Without p_0 -> q_0 there are two sources, without p_1 -> q_1 half of the law is "
        "lost; with N = M = 2 there are two ways to p_2.",
    ),
    Claim(
        id="eq:lines",
        title="trajectory balance on Lines",
        printed="For each increasing sequence (i_0, ..., i_k) with i_0 = 0, 0 <= i_j <= N and "
        "|i_j - i_{j-1}| <= M, the product of p_F(q_{i_k} | p_{i_k : i_0}) and of "
        "p_F(p_{i_j} | p_{i_{j-1} : i_0}) over j, divided by that of p_B(p_{i_k} | "
        "q_{i_k}) and of p_B(p_{i_{j-1}} | p_{i_j}) over j, is R(q_{i_k}) / Z.",
        readings=(
            Reading("As printed, for a normalised p_B: then p_T is R / Z, and Z = sum R.", "true"),
        ),
        control="A p_B of weights 1 counts paths: p_T is (1/4, 1/4, 1/2) for a uniform target, "
        "N = M = 2. One changed stop.",
    ),
    Claim(
        id="eq:policya",
        title="linear policies and their mask",
        printed="p_F(p_{i+k} | p_i, W_i) = Softmax((W_i psi(p_i)) * m_i)_k for 1 <= k <= M, with "
        "psi(p_i) in R^d, W_i in R^(d x (M+1)), an entrywise product * and a mask m_i in "
        '{1, -inf}^(M+1) "that inhibits actions leading to positions with index larger '
        'than N".',
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
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="eq:linear_rec",
        title="the linear recursion",
        printed="W_t = b a_t', a_t = a_{t-1} + (w . psi(s_t)) v with learnable a_o, w, v in R^d "
        "and b in R^(M+1) fixed at random. The proof of prop:lines writes a_i = a_o + "
        "[sum_{0<=j<=i} w . psi(p_i)] v, c_i = sum_{0<=j<=i} psi(p_j), and c_i = i (i - "
        "1) / 2 for psi(p_i) = i. Example Lines: this is a lift with W_o = a_o and a phi "
        "that ignores the latent.",
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
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="prop:lines",
        title="expressivity of linear policies",
        printed="M = 1; W_M and W_P are the sets of laws on q_0, ..., q_N that the linear policy "
        'reaches with a constant W, and with W_t of eq:linear_rec. "dim span(W_M) <= dim '
        "span(W_P) almost surely (with respect to b) for all psi, and dim span(W_M) < dim "
        'span(W_P) for some psi, including psi(p_i) = i"; "span and dimension are meant '
        'in the Euclidean sense". The text calls W_P "strictly larger". The proof says '
        'that a path-dependent model "can represent any distribution" with log-odds in C '
        "+ span H.",
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
        severity=Severity.FALSE,
    ),
    Claim(
        id="fig:linestraining",
        title="the fit of Laplace mixtures",
        printed='N = 16, M = 1, psi(p_i) = i "for each 1 <= i <= N", a target R(q_i) = '
        "sum_{j=1..4} w_j exp(-|i - k_j|) with k_j in {1, ..., N} and weights w of sum "
        'one. After training, "our path-dependent parameterization (middle) provides a '
        'near-perfect distributional fit", and the Markovian one "completely misses the '
        'high-probability regions".',
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
        severity=Severity.FALSE,
    ),
    Claim(
        id="subsec:relu",
        title="universality of ReLU networks",
        printed='f_i : R^{d_i} -> R^{d_{i+1}}, f_i(x) = max(W_i x, 0). "The composition f_1 o f_2 '
        "can approximate any target continuous function from R^{d_o} to R^{d_2} given a "
        'sufficiently large d_1"; the parameters are "W_o, W_1, and W_2".',
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
        severity=Severity.LOOSE,
    ),
    Claim(
        id="eq:max_kl",
        title="aliasing of neighbours on sparse Lines",
        printed='Lines with M = 2, R = 1 at q_2 and q_20 and 1/1000 elsewhere. "Under these '
        'conditions, the optimal policy at p_2 and p_3 differ significantly": at p_2 it '
        '"puts a large weight on moving up" (to q_2), at p_3 it "is biased towards moving '
        "to the right\". The measure is the maximum over histories tau of p_2 and tau' of "
        "p_3 of KL[p_F(. | p_3, tau') || p_F(. | p_2, tau)].",
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
        severity=Severity.LOOSE,
    ),
    Claim(
        id="fig:linesmodels",
        title="what the linear recurrence reaches on sparse Lines",
        printed="Lines with M = 2, R = 1 at q_2 and q_20 and 1/1000 elsewhere. The path-dependent "
        'model has "a better fit to the target distribution given a limited budget of '
        'trajectories; see fig:linesmodelsc, in which we used the model in eq:linear_rec". The '
        'embedding is that of a ReLU network, "each state\'s natural embedding" with d_o = 1.',
        readings=(
            Reading("psi(p_0), and how good a fit is, are not given.", "ill-defined"),
            Reading(
                "psi(p_i) = i from p_0 on: the model comes near the target. TV >= 224/673 > 0.332 "
                "for N = 20 and every parameter.",
                "false",
            ),
            Reading(
                "psi(p_0) = 0 and N >= M force the uniform law on the M + 1 actions at p_0: "
                "p_T(q_0) = 1/(M + 1) and TV >= 1/(M + 1) - pi(q_0), sharp if nothing else is "
                "forced; with psi(p_0) != 0, or a bias, it is free. Which of two samplers is "
                "better the bound does not tell.",
                "true",
            ),
        ),
        control="psi(p_0) = 1: p_T(q_0) = 8^a / (1 + 2^a + 8^a). A constant beside i: near 0. "
        "N < M: the mask leaves 1/2 for 1/3.",
        severity=Severity.LOOSE,
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
