"""Section 5 and appendix: metrics, rewards and claims that only training can settle.

The reading of an empirical claim says what its text leaves open.
"""

from verify.claims.record import Claim, Reading, Severity

CHECKED = (
    Claim(
        id="eq:fcsa",
        title="flow consistency in subgraphs",
        printed="FCS(p, q) = E over B = {x_1, ..., x_B} ~ r of (1/2) sum over i of |p(x_i)/p(B) - "
        'q(x_i)/q(B)| = E over B of TV(p|_B, q|_B), p(B) the sum over B, p|_B "the '
        'restriction of p on B". For the problems of section 5 it is said to have been '
        'shown that it "provides a reliable measurement for the goodness-of-fit", "with a '
        '(Spearman) correlation of over 90%".',
        readings=(
            Reading(
                "With restrictions that are not normalised, and with p(B) = 0 or repeated x_i.",
                "ill-defined",
            ),
            Reading("FCS <= TV, for conditional laws.", "false"),
            Reading("TV <= FCS, for conditional laws.", "false"),
            Reading("FCS = 0 only if p = q, for batches that cover every state.", "false"),
            Reading(
                "With conditional laws on batches of distinct states, FCS <= TV E[1 / max(p(B), "
                "q(B))]; FCS = TV for B = X; FCS = 0 iff p and q are proportional, if every two "
                "states of the batches are in a common one.",
                "true",
            ),
        ),
        control="13/75 > 1/100 and 4/9 < 1/2, FCS against TV on three states; batches that miss a "
        "state or meet only in one without mass: FCS = 0.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="tab:sets",
        title="sizes of the set task",
        printed='"For S = 64 and K in {16, 32} (X contains roughly 10^14 and 10^18 elements, '
        'respectively)", tab:sets shows the FCS. The rows of the table are K = 16 and K = '
        "24.",
        readings=(
            Reading("The sizes of the rows of the table, K = 16 and 24.", "false"),
            Reading("The sizes of the text: 4.9 10^14 and 1.8 10^18.", "true"),
        ),
        control="K = 24, the second row of the table: 2.5 10^17.",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="sequences",
        title="autoregressive sequences",
        printed="Sequences are generated autoregressively: from the empty sequence, add a token "
        "until there are S. The better fit in tab:sequences (and tab:sequencesabits) is "
        'one of "our path-dependent parameterization".',
        readings=(
            Reading(
                "As a gain over Markovian policies: on this graph every policy of a lift is one. "
                "It is a gain over a class of functions, which is to be named.",
                "ill-defined",
            ),
            Reading("The state graph is a tree, so that |S*| = |S| for every lift.", "true"),
        ),
        control="Sequences built at both ends: 17 lifted states of 15; sets: 36 of 26.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="hypergrid",
        title="reward of the grid",
        printed="R(x, y) = 10^-3 + 2 r_1(x) r_1(y) + 0.5 r_2(x) r_2(y), r_1(x) = [n(x) > 0.6] "
        '[n(x) > 0.8], r_2(x) = [x > 0.5], n(x) = |2x/(H-1) - 1|, is "a standard in '
        'GFlowNet evaluation".',
        readings=(
            Reading("As printed.", "false"),
            Reading("With r_1 = [0.6 < n < 0.8] and r_2 = [n(x) > 0.5].", "true"),
        ),
        control="As printed, 16 modes instead of 4, and TV 0.658 to the standard; compared in "
        "floats, 9 modes.",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="eq:apx:sinusoidala",
        title="sinusoidal reward",
        printed="R(s) = cos(s_2) for s in [-M, M]^d, integers.",
        readings=(
            Reading("As printed, a positive function for M >= 2.", "false"),
            Reading("cos(s_2 / M), or 1 + cos(s_2), is positive for every M.", "true"),
        ),
        control="cos(2) < 0; at M = 16 negative for |s_2| in {2, 3, 4, 8, 9, 10, 15, 16}.",
        severity=Severity.FALSE,
    ),
    Claim(
        id="lazy-random-walk",
        title="moves of the lazy random walk",
        printed="From 0, s <- s + v with v in {e_1, ..., e_d, 0}, for exactly T steps, restricted "
        'to [-M, M]^d. "This ensures the underlying stochastic process is aperiodic." The '
        "terminal set is {(s, T): s in [-M, M]^15}, s~ = s / M in [-1, 1].",
        readings=(
            Reading("As printed, with the moves e_i and 0 and the power d for 15.", "false"),
            Reading("With the moves e_i, -e_i and 0, iff T >= M d.", "true"),
        ),
        control="The printed moves reach 9 of 25 cells; without the move 0, 12 of 25.",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="tab:isingsa",
        title="ferromagnetic Ising model",
        printed="log R(x) = x' h + x' J x / 2 on {-1, 1}^d, J = v v' - diag(v v') for v uniform "
        'on the unit sphere, "representing a ferromagnetic system (i.e., the '
        'pairwise-interaction energy is minimized when the particles are spin-aligned)".',
        readings=(
            Reading("For every v, or with probability one.", "false"),
            Reading(
                "Iff no two entries of v differ in sign, probability 2^(1-d); in general it is "
                "least at sign(v) and -sign(v).",
                "true",
            ),
        ),
        control="v = (3/5, -4/5): energy 12/25 for aligned and -12/25 for opposite spins.",
        severity=Severity.FALSE,
    ),
    Claim(
        id="tab:preferencesa",
        title="weights of the preference task",
        printed="Features x_i in {1, 0}^d, p(i > j | w) = sigma(w'(x_i - x_j)) with w in {-m, "
        "..., m} for a positive integer m, a uniform prior, d = 8, m = 4.",
        readings=(
            Reading("As printed, w is one number.", "ill-defined"),
            Reading("w in {-m, ..., m}^d: 43,046,721 states for d = 8, m = 4.", "true"),
        ),
        control="9 weights, which have no product with 8 features.",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="misprints",
        title="misprints that change a number",
        printed="Trajectories in S^{T-1} x X; actions 1..M; the sum over p_F(tau|s*); "
        "p_W(W_{t+1}|s_t, W_t).",
        readings=(
            Reading("As printed.", "false"),
            Reading(
                "S^T x X; actions 1..M+1; the sum over p_B(tau|s*); p_W(W_{t+1}|s_{t+1}, W_t).",
                "true",
            ),
        ),
        control="A step without a start; probabilities that sum to 2/3 and to 1/2; two latents "
        "for one.",
        severity=Severity.MISPRINT,
    ),
)

BY_EXPERIMENT = (
    Claim(
        id="fig:linestraining.training",
        title="Lines with a Laplace mixture, trained",
        printed="On Lines with N = 16, M = 1, psi(p_i) = i, the trained path-dependent linear "
        "model fits the target nearly perfectly, while the Markovian one misses its "
        "high-probability regions.",
        readings=(
            Reading(
                "Centres and weights of the target, psi(p_0), budget and what counts as "
                "near-perfect are not given.",
                "ill-defined",
            ),
        ),
        control="Both models with psi(p_0) = 0, where TV >= 0.3113 is forced.",
        experiment="fig:linestraining",
    ),
    Claim(
        id="fig:graphssgb.training",
        title="graphs with two terminal states, trained",
        printed="A trained path-dependent two-layer GCN has vanishingly small TV for R(q_1) = "
        "0.1, ..., 0.9; the Markovian one has |R(q_1) - 1/2|.",
        readings=(
            Reading(
                "The state graph is a figure, and gate, width and budget are not given.",
                "ill-defined",
            ),
        ),
        control="The same network with a constant gate on an empty start: 1/2 is forced.",
        experiment="fig:graphssgb",
    ),
    Claim(
        id="fig:linesmodelsb",
        title="separation of p_2 and p_3",
        printed="On sparse Lines the KL of a Markovian ReLU policy between p_3 and p_2 stays "
        "constant and near 0 throughout training; the path-dependent one separates them "
        "about 100 times earlier.",
        readings=(
            Reading(
                "KL of laws with different supports (state laws), and budget, width and "
                "threshold of separation are not given.",
                "ill-defined",
            ),
        ),
        control="The optimal policy under a uniform p_B, for which the KL of action laws is "
        "0.892 nats.",
        experiment="fig:linesmodelsb",
    ),
    Claim(
        id="fig:linesmodelsc",
        title="convergence on sparse Lines",
        printed="On sparse Lines the path-dependent sampler converges faster and fits better "
        "than the Markovian one.",
        readings=(Reading("Budget, widths, exploration and seeds are not given.", "ill-defined"),),
        control="An untrained sampler, and the Markovian one with as many parameters.",
        experiment="fig:linesmodelsc",
    ),
    Claim(
        id="fig:setsa.training",
        title="KL between histories, trained",
        printed="On Lines, training with a Markovian p_B drives the KL between policies after "
        "different histories to 0; with a non-Markovian p_B it stays positive.",
        readings=(
            Reading("The non-Markovian p_B, N, M and the budget are not given.", "ill-defined"),
        ),
        control="p_B that depends on x or on W: the optimum itself depends on the path.",
        experiment="fig:setsa",
    ),
    Claim(
        id="tab:sets.training",
        title="sets, trained",
        printed="FCS 0.091 against 0.053 for K = 16 and 0.105 against 0.064 for K = 24, "
        "Markovian against path-dependent, S = 64.",
        readings=(
            Reading(
                "The law of the utilities, batches of FCS, budget and widths are not given.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler on the same batches.",
        experiment="tab:sets",
    ),
    Claim(
        id="tab:sequences",
        title="sequence design, trained",
        printed="FCS of the path-dependent model is lower for Syn-8, 16, 32 (0.011, 0.024, 0.055 "
        "against 0.084, 0.165, 0.243), SIX6 and PHO4.",
        readings=(
            Reading(
                "The laws of u and v, reward exponents, batches of FCS, budget and widths "
                "are not given.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler on the same batches; a Markovian model with the prefix as "
        "its input.",
        experiment="tab:sequences",
    ),
    Claim(
        id="fig:gridsa",
        title="sparse grid, trained",
        printed="On the sparse grid the path-dependent model approximates the target better than "
        "the Markovian one, which struggles to navigate the space.",
        readings=(
            Reading(
                "The reward is a lost figure; budget and exploration are not given.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler; the Markovian one with the same exploration.",
        experiment="fig:gridsa",
    ),
    Claim(
        id="fig:ap",
        title="sizes of the model",
        printed="On the sequence task the path-dependent model has lower TV than the Markovian "
        "one for every number of parameters.",
        readings=(
            Reading(
                'The length, the sizes and the budget are not given; what grows is "the latent '
                'dimension, e.g. d".',
                "ill-defined",
            ),
        ),
        control="A Markovian model larger than the largest path-dependent one.",
        experiment="fig:ap",
    ),
    Claim(
        id="tab:preferencesa.training",
        title="preference learning, trained",
        printed="TV 0.135, 0.177, 0.274 (Markovian) against 0.097, 0.128, 0.236 for 50, 100, 150 "
        "comparisons.",
        readings=(
            Reading(
                "The law of the comparisons, the order of components, budget and widths are "
                "not given.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler.",
        experiment="tab:preferencesa",
    ),
    Claim(
        id="fig:apx:h",
        title="standard hypergrid, trained",
        printed="The path-dependent model fits the standard 16 x 16 hypergrid better.",
        readings=(
            Reading(
                "Two misprints of the reward (hypergrid), budget, exploration and widths.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler; the printed landscape, with 16 modes instead of 4.",
        experiment="fig:apx:h",
    ),
    Claim(
        id="fig:apx:m",
        title="discovery of modes",
        printed="On Syn-8 the path-dependent model has a higher average reward of the 20 most "
        "probable states met in training.",
        readings=(
            Reading(
                '"Most probable" (under R or under the model), batch size and budget are not '
                "given.",
                "ill-defined",
            ),
        ),
        control="Uniform sampling with as many trajectories.",
        experiment="fig:apx:m",
    ),
    Claim(
        id="tab:sequencesabits",
        title="bit sequences, trained",
        printed="Distance to the target 0.025, 0.057, 0.064 (Markovian) against 0.001, 0.002, "
        "0.002 for 16, 32, 64 bits.",
        readings=(
            Reading(
                "The distance, the modes, the exponent, the words and the budget are not given.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler: its distance depends on the exponent.",
        experiment="tab:sequencesabits",
    ),
    Claim(
        id="fig:apx:lra",
        title="lazy random walk, trained",
        printed="On the lazy random walk the path-dependent model fits better, for Rings and for "
        "Sinusoidal.",
        readings=(
            Reading(
                "Moves, dimension, M, T (lazy-random-walk) and the second reward "
                "(eq:apx:sinusoidala) are misprinted or missing.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler.",
        experiment="fig:apx:lra",
    ),
    Claim(
        id="fig:ablationsa",
        title="rotation and link function removed",
        printed="Without the rotation training is hindered; without the link function it is a "
        "little worse (grid 16 x 16, lazy random walk).",
        readings=(
            Reading(
                "Seeds, budget and the reward of the grid are not given, and the explanation "
                "(eigenvectors) is false.",
                "ill-defined",
            ),
        ),
        control="The size of the latent with each, and stable updates with the identity.",
        experiment="fig:ablationsa",
    ),
    Claim(
        id="fig:gatedsa",
        title="SRWM against LSTM and GRU",
        printed="The SRWM converges faster than LSTM and GRU, because these have no rotation.",
        readings=(
            Reading(
                'Sizes, seeds and budget are not given; "because" is not tested by the figure.',
                "ill-defined",
            ),
        ),
        control="The SRWM without its rotation, beside LSTM and GRU.",
        experiment="fig:gatedsa",
    ),
    Claim(
        id="tab:isingsa.training",
        title="Ising model, trained",
        printed="FCS 0.15 against 0.06 for d = 36, and 0.20 against 0.08 for d = 64, three runs "
        "each.",
        readings=(
            Reading(
                "The order in which spins are set, batches of FCS and budget are not given.",
                "ill-defined",
            ),
        ),
        control="An untrained sampler, and the product law of the fields alone (J = 0).",
        experiment="tab:isingsa",
    ),
    Claim(
        id="fcs-correlation",
        title="FCS as a stand-in for TV",
        printed="FCS has a Spearman correlation of over 90 % with TV for the problems of section "
        "5.",
        readings=(
            Reading(
                "Over which runs the correlation is taken, and B and r, are not given; it is "
                "quoted from another paper.",
                "ill-defined",
            ),
        ),
        control="Batches that miss the modes: FCS = 0 with TV = 1/2 is possible.",
        experiment="eq:fcsa",
    ),
    Claim(
        id="srwm-width",
        title="smaller latent dimension",
        printed="Reducing d affects learning convergence negligibly, and improves efficiency "
        "substantially.",
        readings=(
            Reading(
                "The task, the dimensions compared and a measure of negligible are not "
                "given; no figure shows it.",
                "ill-defined",
            ),
        ),
        control="d so small that the latent cannot tell histories apart, such as d = 2.",
        experiment="sec:details",
    ),
    Claim(
        id="cyclic",
        title="environments with cycles",
        printed='"Our analysis intentionally avoids considering the sampling on non-acyclic '
        "environments. That said, our path-dependent framework can be naturally extended "
        'to this broader setting", and the latent "can be naturally used for biasing the '
        'amortized sampler towards shorter trajectories".',
        readings=(
            Reading(
                "Lift, balance and terminal law are only defined on acyclic graphs, and no "
                "extension is given.",
                "ill-defined",
            ),
        ),
        control="A cycle from which the backward walk never leaves.",
        open="no extension to cycles is defined",
    ),
)

CLAIMS = (*CHECKED, *BY_EXPERIMENT)
