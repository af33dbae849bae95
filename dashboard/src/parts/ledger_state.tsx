// A ledger's state in chips, and its cost as lists show it.
import type { Ledger, LedgerSummary } from "../api/types";
import { grouped, number, plural } from "../text/numbers";
import { said } from "../text/names";
import { EpsilonCell, type Terms } from "./epsilon";
import { Chip } from "./icon";

function State({ of: state }: { of: string | undefined }) {
  if (state === "SEALED") return <Chip shape="sealed">sealed</Chip>;
  if (state === "OPEN")
    return (
      <Chip shape="open" tone="info">
        open
      </Chip>
    );
  return <Chip shape="unknown">{state ?? "state not known"}</Chip>;
}
function Writers({ of: ledger }: { of: Ledger }) {
  const all = number(ledger.writerCount);
  const open = number(ledger.openWriterCount);
  if ((ledger.writers ?? []).some((one) => one.missingSpools?.length || one.moreMissingSpools)) {
    const why = "An earlier incarnation of a writer may hold releases that were never delivered";
    return (
      <Chip shape="attend" tone="warn" title={why}>
        spool missing
      </Chip>
    );
  }
  if (all > 0 && open === 0) {
    return <Chip shape="held">{all === 1 ? "writer closed" : "writers closed"}</Chip>;
  }
  if (open === 0 || ledger.state !== "SEALED") return null;
  return (
    <Chip shape="attend" tone="warn">
      {plural(open, "writer")} never closed
    </Chip>
  );
}
const Counted = ({ of: count, what }: { of: string | undefined; what: string }) =>
  number(count) > 0 ? (
    <Chip shape="attend" tone="warn">
      {plural(count, what)}
    </Chip>
  ) : null;

export function StateChips({ ledger, summary }: { ledger: Ledger; summary?: LedgerSummary }) {
  return (
    <div class="chips">
      <State of={ledger.state} />
      {summary?.refusal && (
        <Chip shape="refused" tone="bad">
          ε refused
        </Chip>
      )}
      <Counted of={summary?.conflicts} what="conflict" />
      <Writers of={ledger} />
      <Counted of={summary?.corrections} what="correction" />
    </div>
  );
}

// A summary is in the ledger's own terms.
const summaryTerms = (summary: LedgerSummary, { declaration }: Ledger): Terms => ({
  delta: summary.delta ?? 0,
  unit: declaration?.unitOfPrivacy ? [declaration.unitOfPrivacy] : [],
  adjacency: declaration?.adjacency,
  regime: declaration?.parameters === "ADAPTIVE" ? "FILTER" : "FIXED_PLAN",
});

export function SummaryCell({ summary, ledger }: { summary?: LedgerSummary; ledger: Ledger }) {
  if (summary?.refusal) {
    return (
      <div class="epsilon-cell">
        <strong class="muted">No ε can be given</strong>
        <small class="faint clamp">{said(summary.refusal.message)}</small>
      </div>
    );
  }
  if (!summary?.epsilon) return <span class="faint">not known yet</span>;
  return (
    <div>
      <EpsilonCell epsilon={summary.epsilon} terms={summaryTerms(summary, ledger)} />
      {number(summary.size) < number(ledger.size) && (
        <small class="warn-text">
          of its first {grouped(summary.size)} of {grouped(ledger.size)} entries
        </small>
      )}
    </div>
  );
}

export function roundsText(ledger: Ledger, summary?: LedgerSummary): string {
  const planned = number(ledger.declaration?.plannedRounds);
  const done = summary?.rounds && grouped(summary.rounds);
  if (!planned) return done ?? "–";
  return [done, `of ${grouped(planned)}`].filter(Boolean).join(" ");
}
