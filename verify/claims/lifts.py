"""What lifting changes: Markovian optima, projections, and the backward policy."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="prop:markovian",
        title="Markovian p_B",
        printed="If p_B(s*|s'*) = p~_B(s|s') on the lift, a balanced p_F is Markovian.",
        readings=(
            Reading("Both are normalised: only the trivial lift satisfies that.", "vacuous"),
            Reading(
                "If p_B(tau|x) is the product of p~_B along tau, p_F is Markovian on the states it "
                "visits; with R, p~_B > 0 these are all.",
                "true",
            ),
        ),
        control="A zero of p~_B, or p~_B that depends on x: the balanced p_F depends on the path.",
    ),
)
