"""What `pdai certify` rests on, all of it ours."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="N14",
        title="log Z and model samples bound TV",
        printed=None,
        readings=(
            Reading(
                "With A(z) = E_pF[(1 - R p_B / (z p_F))_+] and Z- <= Z <= Z+: A(Z-) <= TV(p_F, mu) "
                "= A(Z) <= A(Z+), A(Z+) - A(Z-) <= 1 - Z-/Z+, and E_pF[R p_B / p_F] <= Z, zeros of "
                "p_F allowed.",
                "true",
            ),
        ),
        control="Z given as half of it: A = 0, TV = 1/4. p_B of mass 2 and 1: A(Z) = 0, TV = 1/6.",
    ),
    Claim(
        id="N14.target",
        title="model and target samples bound TV from both sides",
        printed=None,
        readings=(
            Reading(
                "For any z, TV(p_F, mu) lies between the smaller and the larger of "
                "E_mu[(1 - z p_F / (R p_B))_+] and E_pF[(1 - R p_B / (z p_F))_+], and is at least "
                "mu(A) - p_F(A), A the event that R p_B > z p_F; all are equal for z = Z.",
                "true",
            ),
        ),
        control="z = 2 Z and z = Z / 2: the smaller is 0, the larger 1/2, TV = 1/4.",
    ),
    Claim(
        id="N14.features",
        title="TV bounds errors of expectations",
        printed=None,
        readings=(
            Reading(
                "|E_pT f - E_pi f| <= TV(p_T, pi) (max f - min f), attained; and TV(p_T, pi) <= "
                "TV(p_F, mu).",
                "true",
            ),
        ),
        control="f of range 2 with the range left out: 1/2 > TV = 1/4.",
    ),
    Claim(
        id="N15",
        title="bets bound a mean at all times",
        printed=None,
        readings=(
            Reading(
                "For independent x_i >= 0 of mean m the mean over kappa of "
                "prod (1 + kappa x_i) / (1 + kappa m) is a martingale from 1, against a larger m a "
                "supermartingale: it ever reaches 1 / a with probability at most a.",
                "true",
            ),
        ),
        control="The best bet in hindsight for the mean over bets, or a bet against half the mean: "
        "1 / a is reached with probability above a.",
    ),
    Claim(
        id="N16",
        title="a checker of certificates is sound",
        printed=None,
        readings=(
            Reading(
                "What the checker accepts is a pointed DAG with a policy and rewards whose "
                "TV(p_T, R / Z) is =, <= or >= what is claimed; in exact arithmetic it accepts all "
                "that is so and in normal form.",
                "true",
            ),
        ),
        control="Any number of a certificate changed: refused, or the changed claim is true.",
    ),
    Claim(
        id="N17",
        title="coincidences of samples bound the distance to a listed law",
        printed=None,
        readings=(
            Reading(
                "For independent parts X, Y of m samples of p and sets H, L, B: 2 TV(p, pi) <= "
                "sum_H |p - pi| + p(L) + pi(L) + sqrt(pi(B) S) with S = sum_B (p - pi)^2 / pi, the "
                "mean of T = sum_B (p_X - pi)(p_Y - pi) / pi; with probability at least 1 - a, "
                "S <= E[T | X] + sqrt(2 r S log(1/a) / m) + (S + 2) log(1/a) / (3 m), "
                "r = max_B p / pi.",
                "true",
            ),
        ),
        control="X taken for Y too: the mean is above S. Without the term of r: fails with "
        "probability above a.",
    ),
)
