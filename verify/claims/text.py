"""What the paper says in passing: of training, of landscapes, of its sampler."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="signal-propagation",
        title="signals during training",
        printed='Abstract: "the Markovian assumption can both hamper signal propagation during '
        'training" and reduce expressivity, by state aliasing.',
        readings=(
            Reading(
                "What a signal is, how far it propagates, and on what task, is not said; no "
                "experiment of the paper measures it.",
                "ill-defined",
            ),
        ),
        control="A task whose reward is decided early and seen late, its length swept, with a "
        "Markovian network that observes the early decision.",
        open="no measure is named; by total variation after equal steps (study:credit) a Markovian "
        "network that sees the early decision is as good as those with memory",
    ),
    Claim(
        id="similar-states",
        title="actions at similar states of the lazy random walk",
        printed='Of Rings and Sinusoidal: "Intuitively, both target distributions require the '
        "sampler to perform significantly different actions at similar states. Under this "
        "condition, as we illustrated in fig:linesmodels, learning convergence is hampered by "
        'state aliasing."',
        readings=(
            Reading(
                "Which states are similar, what is significant and for which p_B, is not said.",
                "ill-defined",
            ),
            Reading(
                "For the uniform p_B and neighbouring cells, on average over visits, as much as at "
                "p_2 and p_3 of fig:linesmodels (0.892 nats), or half of it.",
                "false",
            ),
            Reading(
                "There are such neighbours: up to 1.7 nats on Rings, 2.8 on Sinusoidal. They have "
                "less than 2 in 100 of the visits above 0.446 nats; the mean is 0.083 and 0.101, "
                "the median 0.0002 and 0.010 (M = 16, T = 32, d = 2, the sinusoid repaired).",
                "true",
            ),
        ),
        control="The measure gives 0.892 at p_3 and p_2 of sparse Lines, and 0 for a sampler that "
        "acts alike everywhere.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="collapse",
        title="collapse on walk and grid",
        printed='Of the lazy random walk: "we empirically found that such a generative process is '
        'less prone to collapse than the one in fig:apx:h", the standard hypergrid.',
        readings=(
            Reading(
                "Collapse has no definition, the two tasks differ in reward, length and features "
                "as well, and no number is given.",
                "ill-defined",
            ),
        ),
        control="One reward on the same cells, sampled by both processes, with as many steps.",
        open="no measure of collapse is named, and the two tasks compared have different rewards",
    ),
    Claim(
        id="gibbs",
        title="the sampler and Gibbs sampling",
        printed='"Interestingly, our sampling algorithm is reminiscent of Gibbs sampling, '
        "implementing a systematic scanning strategy for state modification: (s, w) -> (s', w) "
        "-> (s', w').\"",
        readings=(
            Reading("What is reminiscent of something cannot be wrong.", "ill-defined"),
            Reading(
                "As of a Gibbs sampler: the steps leave a law on states and latents invariant that "
                "is positive on inner states.",
                "false",
            ),
            Reading(
                "In form: two half-steps in turn, and w' is a function of (s', w). Every invariant "
                "law of the two lives on terminal states, as the graph has no cycle.",
                "true",
            ),
        ),
        control="Terminal states that lead back to s_o: a law positive on inner states is "
        "invariant. A scan of two bits leaves its target invariant.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="gaussian-smoothing",
        title="a Gaussian latent smooths the landscape",
        printed='"Intuitively, this Gaussian-extended distribution", pi(x, w) = Z r(x) N(w | mu, '
        'Lambda), "would smooth up the landscape of the target and potentially facilitate the '
        'learning of an accurate sampler."',
        readings=(
            Reading(
                "Smooth in which variable is not said: with mu and Lambda that do not depend on x "
                "the law of x is r at every w. Task, budget and scales are not given.",
                "ill-defined",
            ),
        ),
        control="The same networks without noise, for as many steps, and for as much time.",
        experiment="study:stochastic",
    ),
    Claim(
        id="eq:apx:ringsa",
        title="reward of the rings",
        printed="R(s) = 0.6 exp(-10 (|s~| - 0.2)^2) + 0.3 exp(-10 (|s~| - 0.9)^2), s~ = s / M, "
        "with the Euclidean norm, on [-M, M]^d.",
        readings=(
            Reading(
                "As printed: positive, with two rings, one maximum in |s~| below 0.6 and one "
                "between 0.65 and 1.2. The outer ring is 1.27 times as high as the trough at 0.65; "
                "for M = 16 and d = 2 the largest value is 28.2 times the smallest.",
                "true",
            ),
        ),
        control="s for s~: all but 1 in 100,000 of the mass is on the origin and the eight cells "
        "around it.",
    ),
)
