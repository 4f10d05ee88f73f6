"""Section 4 and appendix, the recurrences: RNN, SRWM, heads."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="rnn",
        title="recurrent network as dynamics",
        printed="The recurrence W_t = W_{t-1} + phi(s_t, W_{t-1}) is implemented by a "
        'single-layer vanilla RNN with identity activation, which "would provide the '
        'equation phi(s_t, W_t) = psi(s_t) W_s + W_{t-1} (W_h - I) + b_h", W_t and b_h in '
        "R^d, W_s and W_h in R^{d x d}.",
        readings=(
            Reading(
                "As printed, phi is a function of (s_t, W_t) and vectors are columns.",
                "ill-defined",
            ),
            Reading(
                "With phi(s_t, W_{t-1}) and vectors in rows, W_{t-1} + phi is the network "
                "psi(s_t) W_s + W_{t-1} W_h + b_h.",
                "true",
            ),
        ),
        control="W_h = 0: equal (s_t, W_t), but phi = (1, 2) and (-4, -3).",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="eq:ASRWM",
        title="modified self-referential weight matrix",
        printed="(q_t, k_t, v_t, beta_t) = W psi(s_t) + b, vbar_t = W_{t-1} zeta(k_t), W_t = "
        "W_{t-1} R + sigma(beta_t) (v_t - vbar_t) (x) zeta(q_t), with slow weights W in "
        "R^{(3d+1) x d} and b in R^{3d+1}, an activation zeta into the simplex, the "
        "sigmoid sigma, a fixed rotation R, and W_0 = a b'.",
        readings=(
            Reading("An update W_t = W_{t-1} + phi(s_t, W_{t-1}) with shapes that fit.", "true"),
        ),
        control="phi without -I: W_t = W_{t-1} (I + R).",
    ),
    Claim(
        id="eq:ASRWM.rate",
        title="who determines the rate",
        printed='"W_{t-1} is a rapidly evolving matrix with a self-determined learning rate '
        'sigma(beta_t)", "under the terminology introduced by" Schmidhuber (1993).',
        readings=(
            Reading(
                "As in Schmidhuber: the fast matrix W_{t-1} determines its own rate or keys.",
                "false",
            ),
            Reading(
                "The network does: the slow weights determine rate and keys, and the update is "
                "affine in W_{t-1}.",
                "true",
            ),
        ),
        control="Value and rate made by W_{t-1}: quadratic, 0, 1, 2 become 0, 2, 6.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="eq:ASRWM.delta",
        title="the correction v_t - W_{t-1} zeta(k_t)",
        printed=None,
        readings=(
            Reading(
                "Of the printed update with R = I: what is read at zeta(k_t) moves towards v_t by "
                "the share rate q.k, and what other keys read changes, so that it is no delta "
                "rule.",
                "true",
            ),
            Reading("Written at zeta(k_t) but read before the rotation it is.", "false"),
            Reading(
                "Written at zeta(k_t) and read after the rotation, W_{t-1} R zeta(k_t), it is the "
                "delta rule for W_{t-1} R.",
                "true",
            ),
        ),
        control="As printed with rate 1, |k| = 1, R = I: (21/25, 53/25) is read instead of (1, 3).",
    ),
    Claim(
        id="eq:ASRWM.stability",
        title="growth of W_t under frozen inputs",
        printed=None,
        readings=(
            Reading(
                "The printed update can grow like (sqrt(43)/5)^t, 1.31 per step; read after the "
                "rotation and written at zeta(k), |W_T| <= |W_0| + sum of rate |v| |zeta(k)|.",
                "true",
            ),
        ),
        control="Only the key repaired: 127/100 per two steps, or 19/10 per step; keys off the "
        "simplex: 13/5. Without a rotation the printed update is bounded.",
    ),
    Claim(
        id="eq:ASRWM.eigenvectors",
        title="what the rotation turns",
        printed='"R enforces diversity into the policy by rotating the eigenvectors of W_t" '
        "(section 4; again in the ablation). The operation is W -> W R.",
        readings=(
            Reading("As printed, of W R.", "false"),
            Reading(
                "W R has the singular values and left singular vectors of W, and its right ones "
                "turned by R.",
                "true",
            ),
        ),
        control="diag(1, 0) turned by 90 degrees has one eigenvector, the old (1, 0), and squares "
        "to 0. A shear for R changes singular values.",
        severity=Severity.FALSE,
    ),
    Claim(
        id="eq:ASRWM.ergodic",
        title="ergodic rotation",
        printed='"R is a (fixed) ergodic rotation matrix."',
        readings=(
            Reading("As printed: on which space, for which measure, is not said.", "ill-defined"),
            Reading("On the circle, d = 2: if the angle in turns is irrational.", "true"),
            Reading("On the sphere, d >= 3, as for the paper's d = 32.", "false"),
            Reading(
                "On the torus of phases of its planes: if 1 and the angles in turns are linearly "
                "independent over the rationals.",
                "true",
            ),
        ),
        control="A quarter turn returns after 4 steps; one plane twice as fast as the other keeps "
        "a relation; in d >= 3, x' (R + R') x or the norm in a plane is invariant.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="N11",
        title="SRWM = rotary delta network",
        printed=None,
        readings=(
            Reading(
                "W_t = U_t R^t, where U_t adds rate (v - U_{t-1} R^{t-1} k) (x) R^t q; a chunk of "
                "steps is a triangular solve with relative turns R^{t-i}.",
                "true",
            ),
        ),
        control="A key turned once too often or too rarely; no key turned: ((0, -1), (0, 0)) for "
        "((1, 0), (0, 0)).",
    ),
    Claim(
        id="srwm-cost",
        title="cost of the rotation",
        printed='"The cost of our SRWM is dominated by the O(d^3) matrix multiplication required '
        'by the rotation matrix" (appendix), which is why d = 32 is chosen.',
        readings=(
            Reading("The rotation requires a product of d x d matrices.", "false"),
            Reading(
                "Multiplied out as printed it takes d^3 multiplications; a step with 2 d^2 + 7 d "
                "gives the same.",
                "true",
            ),
        ),
        control="The product as printed, counted: d^3 + 2 d^2 + d, and 86 in 100 of all at d = 32.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="eq:sigmasa",
        title="normalised ELU",
        printed="The link function sigma(x) = (ELU(x) + 1) / (1' ELU(x) + d) on R^d, applied "
        "componentwise, with ELU(x) = x for x >= 0 and exp(x) - 1 for x < 0.",
        readings=(
            Reading("As the zeta of eq:ASRWM, it maps R^d into the simplex.", "true"),
            Reading("As the sigma of eq:ASRWM, it makes beta_t a rate in (0, 1).", "false"),
            Reading("It maps R^d onto the open simplex: no vertex, no face.", "true"),
        ),
        control="As sigma it is 1 for every beta. Without the 1 a value is negative; without d "
        "values sum to 5/3 at (1, 2).",
    ),
    Claim(
        id="output_head",
        title="output head",
        printed='With y_t = W_t psi(s_t) "as in eq:ASRWM", W_1 in R^{d_MLP x d} and W_2 in '
        "R^{d_MLP x d_out}, p_F(. | s_t, W_t) = softmax(W_2 LeakyReLU(W_1 y_t) * m(s_t)), "
        "m(s_t) in {1, -inf}^{d_out}, where * is the product of entries and LeakyReLU has "
        "slope 1/100.",
        readings=(
            Reading(
                "As printed, unless d_out = d_MLP and no logit is negative or 0.", "ill-defined"
            ),
            Reading(
                "W_2 of shape d_out x d_MLP, the mask in {0, -inf} added: a law on the permitted "
                "transitions, positive on each.",
                "true",
            ),
        ),
        control="The printed shapes do not multiply; the printed mask turns logits (2, -1, 0) into "
        "(2, inf, nan).",
        severity=Severity.MISPRINT,
    ),
)
