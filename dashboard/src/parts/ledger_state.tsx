// A ledger's state in chips, and its cost as lists show it.
import type { Ledger, LedgerSummary } from "../api/types";
import { count, grouped, plural } from "../text/numbers";
import { said } from "../text/names";
import { regimeOf } from "../text/words";
import { EpsilonCell } from "./epsilon";
import { Chip } from "./icon";

export function StateChips({ ledger, summary }: { ledger: Ledger; summary?: LedgerSummary }) {
  const writers = count(ledger.writerCount);
  const open = count(ledger.openWriterCount);
  const missing = (ledger.writers ?? []).some((writer) => writer.missingSpools?.length || writer.moreMissingSpools);
  const conflicts = count(summary?.conflicts);
  const corrections = count(summary?.corrections);
  return <div class="chips">
    {ledger.state === "SEALED" ? <Chip shape="sealed" tone="plain">sealed</Chip>
      : ledger.state === "OPEN" ? <Chip shape="open" tone="info">open</Chip> : <Chip shape="unknown" tone="plain">{ledger.state ?? "state not known"}</Chip>}
    {summary?.refusal && <Chip shape="refused" tone="bad">ε refused</Chip>}
    {conflicts > 0 && <Chip shape="attend" tone="warn">{plural(conflicts, "conflict")}</Chip>}
    {missing ? <Chip shape="attend" tone="warn" title="An earlier incarnation of a writer may hold releases that were never delivered">spool missing</Chip>
      : writers > 0 && open === 0 ? <Chip shape="closed" tone="plain">{writers === 1 ? "writer closed" : "writers closed"}</Chip>
      : open > 0 && ledger.state === "SEALED" ? <Chip shape="attend" tone="warn">{plural(open, "writer")} never closed</Chip> : null}
    {corrections > 0 && <Chip shape="attend" tone="warn">{plural(corrections, "correction")}</Chip>}
  </div>;
}

export function summaryTerms(summary: LedgerSummary, ledger?: Ledger) {
  return {
    delta: summary.delta ?? 0,
    unit: ledger?.declaration?.unitOfPrivacy ? [ledger.declaration.unitOfPrivacy] : [],
    adjacency: ledger?.declaration?.adjacency,
    regime: regimeOf({ parameters: ledger?.declaration?.parameters }),
  };
}

export function SummaryCell({ summary, ledger, strip }: { summary?: LedgerSummary; ledger: Ledger; strip?: boolean }) {
  if (summary?.refusal) return <div class="epsilon-cell"><strong class="muted">No ε can be given</strong><small class="faint clamp">{said(summary.refusal.message)}</small></div>;
  if (!summary?.epsilon) return <span class="faint">not known yet</span>;
  return <div>
    <EpsilonCell epsilon={summary.epsilon} terms={summaryTerms(summary, ledger)} strip={strip} />
    {count(summary.size) < count(ledger.size) && <small class="warn-text">of its first {grouped(summary.size)} of {grouped(ledger.size)} entries</small>}
  </div>;
}

export function roundsText(ledger: Ledger, summary?: LedgerSummary): string {
  const planned = count(ledger.declaration?.plannedRounds);
  const last = Math.max(-1, ...(ledger.writers ?? []).filter((writer) => writer.hasRound).map((writer) => count(writer.lastRound)));
  const done = summary?.rounds !== undefined ? count(summary.rounds) : last >= 0 ? last + 1 : undefined;
  if (done === undefined) return planned ? `of ${grouped(planned)}` : "–";
  return planned ? `${grouped(done)} of ${grouped(planned)}` : grouped(done);
}
