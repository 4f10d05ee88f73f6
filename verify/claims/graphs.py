"""Section 3, graph networks: what memory adds to refinement."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="gnn_layer",
        title="what a message-passing layer tells apart",
        printed="Section 3: a layer is x_i' = mu({zeta(x_j): (i, j) in E}), mu "
        "permutation-invariant. It fails to distinguish nodes with x_i = x_j and "
        'isomorphic 1-hop neighbourhoods; "the expressivity of deep GNNs is '
        'well-understood under the light of the Weisfeiler-Lehman hierarchy", and '
        'eq:graphss takes "a 1-WL multi-layer GNN".',
        readings=(
            Reading(
                "As printed: the braces are of a set or of a multiset, and the node is missing.",
                "ill-defined",
            ),
            Reading(
                "mu of the set of neighbours' features, without the node: without features, stacks "
                "see only which nodes are isolated; the sentence on neighbourhoods is true.",
                "false",
            ),
            Reading(
                "mu of the multiset, without the node: 1-WL colours of graphs without features "
                "only.",
                "false",
            ),
            Reading(
                "Neighbourhoods that are isomorphic as graphs, whatever their features.", "false"
            ),
            Reading(
                "mu of the multiset and of the node: stacks compute the stable colours of 1-WL, "
                "and no finer ones; neighbourhoods isomorphic as featured graphs are not told "
                "apart.",
                "true",
            ),
        ),
        control="mu of a set: the nodes of a path of three look alike at every depth, degrees 1 "
        "and 2. Without the node: two isolated nodes with features 0 and 1 look alike.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="eq:graphss",
        title="the Markovian policy of a graph network",
        printed="p_F(G^{+(m, n)} | G) is proportional to exp zeta(f(x_m; G) (+) f(x_n; G)), where "
        "G^{+(m, n)} is G with the edge (i, j), (+) is concatenation, f a 1-WL network "
        "and zeta any network. Such a sampler cannot sample from some simple "
        "distributions on graphs.",
        readings=(
            Reading(
                "As printed: i, j are not defined; with m, n, an undirected edge has two values, "
                "one for each way to write it.",
                "ill-defined",
            ),
            Reading(
                "Edges written with the lesser node first: a policy, but the laws it attains "
                "depend on the names of the nodes.",
                "false",
            ),
            Reading("(m, n) and (n, m) are two actions with one result.", "true"),
            Reading(
                "Symmetric zeta: the policies are equivariant, and p_T(q_1) = p_T(q_2) for all "
                "weights wherever the last actions have equal pairs of colours.",
                "true",
            ),
        ),
        control="Edges written with the lesser node first: with the edge 02 the law is (2/3, 1/3), "
        "with 01, an isomorphic state graph, (1/2, 1/2).",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="prop:temporal_gnns",
        title="path features make graph networks attain more laws",
        printed="m^(o) = 0, m^(i+1) = m^(i) + alpha(G_i) (A_{i+1} - A_i) 1, alpha with values in "
        "(0, 1]. R_M(S) are the distributions of networks on X, R_P(S) those of networks "
        "on [X || m]. Then R_M(S) is contained in R_P(S) for every state graph S, and "
        "R_M(S) != R_P(S) for some S.",
        readings=(
            Reading("As printed, with a gate of one's choice.", "true"),
            Reading(
                "For every gate: true of one S, the 6-cycle built from a start with edges.", "true"
            ),
            Reading("R_P(S) is a subset of R_M(S), as its proof prints.", "false"),
            Reading("R_M(S) is a subset of R_P(S), which it shows.", "true"),
        ),
        control="A constant gate and an empty start: (0, 1) becomes 1/2. A relabelling that "
        "exchanges the terminals: 1/2. An unseparated history of forced mass 1/2: (1/4, 3/4).",
    ),
    Claim(
        id="prop:temporal_gnns.text",
        title="what the text says of path features",
        printed='"Intuitively", to include when a node\'s degree has changed "strictly improves '
        'the expressivity of the learned sampler"; "the policy function no longer satisfies the '
        'Markovian property".',
        readings=(
            Reading("R_M(S) != R_P(S) for every S, and a gate of one's choice.", "false"),
            Reading("For every gate, with some S that starts without edges.", "false"),
            Reading(
                "What is gained comes from a policy that is not Markovian: there are gains on "
                "trivial lifts, of one history, or from marking the start.",
                "false",
            ),
            Reading(
                "From the empty graph, a gate by size gains on some S iff it is not constant; the "
                "least number of nodes for a gain is 4.",
                "true",
            ),
        ),
        control="A relabelling that exchanges the terminals: 1/2 under every invariant gate. A "
        "constant gate and an empty start: no gain.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="fig:graphssgb",
        title="total variation of the two samplers on a fork",
        printed="With R(q_1) = alpha, R(q_2) = 1 - alpha, alpha in {0.1, ..., 0.9}: TV(R, p_T) = "
        '|alpha - 1/2| for the Markovian sampler, "vanishingly small" for the '
        'path-dependent one, which "perfectly fits any target".',
        readings=(
            Reading("As printed, for 0 < alpha < 1 (alpha is not the gate).", "true"),
            Reading("A target on one terminal is fitted exactly: only in the limit.", "false"),
            Reading(
                "The infimum of TV is zero for every alpha, attained for 0 < alpha < 1.", "true"
            ),
        ),
        control="Features that tell the edges apart: TV = 0 without path features, where the "
        "formula says 2/5. A symmetry: |alpha - 1/2| with path features.",
    ),
    Claim(
        id="ex_graphs",
        title="path features as a lift (example Graphs, eq:pdgraphss)",
        printed='W_o = (0, A_o), phi(s, (m, A)) = (alpha(s) (A_s - A) 1, 0); "correspondingly" '
        "A_{t+1} = A_t and m_{t+1} = m_t + alpha_t (A_{t+1} - A_t) 1 with alpha_t = "
        "alpha(s_t). This is to be the recursion of prop:temporal_gnns, m^(i+1) = m^(i) + "
        "alpha(G_i) (A_{i+1} - A_i) 1.",
        readings=(
            Reading(
                "As printed: phi adds to m, the displayed update adds zero; they exclude each "
                "other and the proposition.",
                "ill-defined",
            ),
            Reading("The displayed update alone: m_t = 0.", "false"),
            Reading(
                "phi alone: m_t = sum over i <= t of alpha(s_i) (deg_i - deg_o), another "
                "recursion.",
                "false",
            ),
            Reading("phi = (alpha(s) (A_s - A) 1, A_s - A): the gate is one step late.", "false"),
            Reading(
                "phi = (alpha(A) (A_s - A) 1, A_s - A), with alpha(A) the gate of the graph A.",
                "true",
            ),
        ),
        control="Each other reading differs from the recursion on every history of five state "
        "graphs; phi as printed separates the matching under a constant gate, with features "
        "(3, 1) and (2, 1).",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="N9",
        title="symmetry ties terminals, whatever is remembered",
        printed=None,
        readings=(
            Reading(
                "For a policy on histories that is equivariant under a group of automorphisms, "
                "p_T is constant on orbits of terminals; every positive law constant on orbits is "
                "attained without memory.",
                "true",
            ),
            Reading(
                "Networks with path features are equivariant under every gate: not if the gate "
                "reads labels.",
                "false",
            ),
            Reading("Networks with path features and an invariant gate are equivariant.", "true"),
        ),
        control="A gate that reads labels, or features that tell the edges apart: (0, 1) on the "
        "mirrored fork instead of 1/2.",
    ),
    Claim(
        id="N13",
        title="aliasing against memory",
        printed=None,
        readings=(
            Reading(
                "Two aliased states with two terminals each: without memory exactly the positive "
                "laws with p(x1) p(y2) = p(x2) p(y1); with memory of observations all positive "
                "laws, unless both states have one history and it is the same.",
                "true",
            ),
            Reading("Memory helps only if the two sets of histories differ.", "false"),
            Reading(
                "For any ties, p_T(x) ranges over the interval between pessimum and optimum over "
                "beliefs, open unless a point, if one ranking of classes makes optimal choices.",
                "true",
            ),
        ),
        control="The states told apart: the equation fails. Equal sets of two histories each: the "
        "law (4, 1, 1, 4)/10 is attained all the same.",
    ),
)
