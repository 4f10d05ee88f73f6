"""Section 4, learning: balance conditions on the lift and what follows from them."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="col:tb",
        title="trajectory balance",
        printed="F(s_o*) p_F(tau) = R(x) p_B(tau|x) for every trajectory implies p_T "
        "proportional to R.",
        readings=(Reading("As printed, for p_B of mass 1 at every x; then F(s_o*) = Z.", "true"),),
        control="Mass that varies with x: p_T is (2/3, 1/3) for a uniform target. One edge "
        "changed.",
    ),
    Claim(
        id="col:cb",
        title="contrastive balance",
        printed="p_F(tau) p_B(tau'|x') R(x') = p_F(tau') p_B(tau|x) R(x), for all tau = (s_t*) and "
        "tau' = (s_t'*) with t = 0..T, implies p_T proportional to R.",
        readings=(
            Reading("For pairs of trajectories of the same length T.", "false"),
            Reading("For pairs of trajectories of any two lengths T and T'.", "true"),
        ),
        control="Only pairs of equal length: satisfied by p_T = (9/10, 1/10) for a uniform target.",
    ),
)
