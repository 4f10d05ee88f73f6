"""The outcome of the tests for each claim: as a table, as JSON, as the table of the notes."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from verify.lib.ledger import CLAIMS, marks_of_claims, result_of
from verify.lib.record import Claim, Severity, Tier


@dataclass
class Finding:
    """Outcomes of one claim's tests, `(kind, outcome)`, and the scopes that they named."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    scopes: dict[str, None] = field(default_factory=dict)

    def cell(self, kind: str) -> str:
        """`3 ok, 1 FAILED`."""
        failed = self.outcomes[kind, "failed"] + self.outcomes[kind, "error"]
        parts = [f"{self.outcomes[kind, 'passed']} ok"]
        parts += [f"{failed} FAILED"] if failed else []
        parts += [f"{n} skipped"] if (n := self.outcomes[kind, "skipped"]) else []
        return ", ".join(parts)

    def verdict(self, claim: Claim) -> str:
        """The verdict on its claim, unless a test failed."""
        outcomes = {outcome for _, outcome in self.outcomes}
        return "not confirmed in this run" if outcomes & {"failed", "error"} else claim.verdict

    def as_expected(self) -> bool:
        """True if checks and controls ran, and all passed."""
        passed = all(self.outcomes[kind, "passed"] for kind in ("claim", "control"))
        return passed and {outcome for _, outcome in self.outcomes} == {"passed"}


def findings(stats: dict[str, list[Any]]) -> dict[str, Finding]:
    """By claim, what the reports of a pytest session say; only claims of which a test ran."""
    by_claim: dict[str, Finding] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, []):
            properties = getattr(report, "user_properties", [])
            scopes = [str(value) for name, value in properties if name == "scope"]
            for kind, claim in properties:
                if kind in ("claim", "control"):
                    finding = by_claim.setdefault(str(claim), Finding())
                    finding.outcomes[kind, outcome] += 1
                    finding.scopes |= dict.fromkeys(scopes)
    return by_claim


def ledger_table(by_claim: dict[str, Finding], claims: Sequence[Claim]) -> Table:
    """The ledger of these claims with the outcomes of a run, as far as a test of them ran.

    The empirical and the open claims are shown beside all others.
    """
    table = Table(title=f"Ledger of the paper's claims\n{by_tier(claims)}", show_lines=True)
    table.add_column("claim", no_wrap=True)
    for name in ("verdict", "severity", "checked on", "control"):
        table.add_column(name)
    for name in ("checks", "controls"):
        table.add_column(name, justify="right")
    whole = all(claim.id in by_claim for claim in claims if claim.is_tested)
    for claim in claims:
        finding = by_claim.get(claim.id, Finding())
        if not claim.is_tested and whole:
            checked_on = claim.open or f"by experiment {claim.experiment}: {result_of(claim)}"
            cells = (checked_on, claim.control, "", "")
        elif claim.id in by_claim:
            looked_at = "; ".join(finding.scopes)
            cells = (looked_at, claim.control, finding.cell("claim"), finding.cell("control"))
        else:
            continue
        grade = claim.severity.label if claim.severity else ""
        table.add_row(claim.id, finding.verdict(claim), grade, *cells)
    return table


def by_tier(claims: Iterable[Claim]) -> str:
    """The number of claims of each tier: a proof in Coq, exhaustive checks, and so on."""
    tiers = Counter(claim.tier for claim in claims)
    return ", ".join(f"{tiers[tier]} {tier.label}" for tier in Tier)


def summary(claims: Iterable[Claim], by_claim: Mapping[str, Finding]) -> str:
    """The number of claims of each verdict, and of each grade among those that do not hold."""
    said = [(by_claim.get(claim.id, Finding()).verdict(claim), claim) for claim in claims]
    grades = Counter(claim.severity for verdict, claim in said if verdict == claim.verdict)
    counts = [f"{n} {what}" for what, n in Counter(what for what, _ in said).most_common()]
    graded = [f"{grades[grade]} {grade.label} ({grade.value})" for grade in Severity]
    return f"{len(said)} claims: {', '.join(counts)}. By severity: {'; '.join(graded)}."


def ledger_json(by_claim: dict[str, Finding], claims: Iterable[Claim]) -> str:
    """The ledger of these claims for programs: statements, readings, outcomes of a run.

    A claim is `as_expected` if a check and a control of it ran and all of them passed; one that no
    test decides always is.
    """
    records = [_record(claim, by_claim.get(claim.id, Finding())) for claim in claims]
    return json.dumps(records, indent=1, ensure_ascii=False)


def _record(claim: Claim, finding: Finding) -> dict[str, object]:
    outcomes = sorted(finding.outcomes.items())
    return {
        "claim": claim.id,
        "title": claim.title,
        "printed": claim.printed,
        "readings": [reading._asdict() for reading in claim.readings],
        "verdict": finding.verdict(claim),
        "severity": claim.severity.label if claim.severity else None,
        "control": claim.control,
        "theorems": list(claim.theorems),
        "half": claim.half,
        "missing": claim.unproved,
        "tier": claim.tier.label if claim.tier else None,
        "experiment": claim.experiment,
        "open": claim.open,
        "outcome": result_of(claim),
        "scopes": list(finding.scopes),
        "outcomes": {f"{kind} {outcome}": count for (kind, outcome), count in outcomes},
        "as_expected": not claim.is_tested or finding.as_expected(),
    }


def controls(claims: Iterable[Claim]) -> str:
    """The negative controls: what each claim's control breaks, and the tests that must see it."""
    lines = []
    for claim in claims:
        tests = [t for t in marks_of_claims() if (t.kind, t.label) == ("control", claim.id)]
        if tests:
            lines.append(f"{claim.id}: {claim.control}")
            lines += [f"    verify/{test.file}::{test.name}" for test in tests]
    return "\n".join(lines)


if __name__ == "__main__":
    print(controls(CLAIMS))
