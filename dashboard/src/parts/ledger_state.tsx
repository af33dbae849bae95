// A ledger's state in chips, and its cost as lists show it.
import type { Ledger, LedgerSummary } from "../api/types";
import { grouped, number, plural } from "../text/numbers";
import { said } from "../text/names";
import { EpsilonLine, upper, type Terms } from "./epsilon";
import { Chip, type Shape, type Tone } from "./icon";

interface Mark {
  shape: Shape;
  tone: Tone;
  words: string;
  why?: string;
}
const SPOOL = "An earlier incarnation of a writer may hold releases that were never delivered";

function stateOf({ state }: Ledger): Mark {
  if (state === "SEALED") return { shape: "sealed", tone: "plain", words: "sealed" };
  if (state === "OPEN") return { shape: "open", tone: "info", words: "open" };
  return { shape: "unknown", tone: "plain", words: state ?? "state not known" };
}
function writersOf(ledger: Ledger): Mark | undefined {
  const all = number(ledger.writerCount);
  const open = number(ledger.openWriterCount);
  if ((ledger.writers ?? []).some((one) => one.missingSpools?.length || one.moreMissingSpools)) {
    return { shape: "attend", tone: "warn", words: "spool missing", why: SPOOL };
  }
  if (all > 0 && open === 0) {
    return { shape: "held", tone: "plain", words: all === 1 ? "writer closed" : "writers closed" };
  }
  if (open === 0 || ledger.state !== "SEALED") return undefined;
  return { shape: "attend", tone: "warn", words: `${plural(open, "writer")} never closed` };
}
const counted = (count: string | undefined, what: string): Mark | undefined =>
  number(count) > 0 ? { shape: "attend", tone: "warn", words: plural(count, what) } : undefined;

interface StateProps {
  ledger: Ledger;
  summary?: LedgerSummary;
}
// Its state, then what else is to be said of it, the gravest first.
const marksOf = ({ ledger, summary }: StateProps): Mark[] =>
  [
    stateOf(ledger),
    summary?.refusal && ({ shape: "refused", tone: "bad", words: "ε refused" } as const),
    upper(summary?.epsilon) === Infinity &&
      ({ shape: "refused", tone: "bad", words: "no bound" } as const),
    counted(summary?.conflicts, "conflict"),
    writersOf(ledger),
    counted(summary?.corrections, "correction"),
  ].filter((mark) => !!mark);

export const StateChips = (props: StateProps) => (
  <div class="chips">
    {marksOf(props).map(({ shape, tone, words, why }) => (
      <Chip key={words} shape={shape} tone={tone} title={why}>
        {words}
      </Chip>
    ))}
  </div>
);
// On one line: the state, and what must be attended to; what there is no room for, as a number.
export function StateLine(props: StateProps) {
  const [state, ...marks] = marksOf(props);
  const [first, ...others] = marks.filter((mark) => mark.tone !== "plain");
  const more = others.map((mark) => mark.words).join(", ");
  return (
    <div class="state-line">
      <Chip {...state} title={more}>
        {state.words}
      </Chip>
      {first && (
        <Chip {...first} title={first.why ?? first.words}>
          <span class="cut">{first.words}</span>
        </Chip>
      )}
      {more && (
        <span class="warn-text" title={more}>
          +{others.length}
          <span class="hidden"> {more}</span>
        </span>
      )}
    </div>
  );
}

// A summary is in the ledger's own terms.
export const summaryTerms = (
  summary: LedgerSummary | undefined,
  { declaration }: Ledger,
): Terms => ({
  delta: summary?.delta ?? 0,
  unit: declaration?.unitOfPrivacy ? [declaration.unitOfPrivacy] : [],
  adjacency: declaration?.adjacency,
  regime: declaration?.parameters === "ADAPTIVE" ? "FILTER" : "FIXED_PLAN",
});

// On one line; `whom` as EpsilonLine has it.
export function SummaryLine({ summary, ledger, whom }: StateProps & { whom: boolean }) {
  if (summary?.refusal) {
    const why = said(summary.refusal.message);
    return (
      <span title={why}>
        <strong class="muted">No ε can be given:</strong> <span class="faint">{why}</span>
      </span>
    );
  }
  if (!summary?.epsilon) return <span class="faint">not known yet</span>;
  const isOld = number(summary.size) < number(ledger.size);
  return (
    <>
      {isOld && (
        <span class="warn-text">
          {grouped(summary.size)} of {grouped(ledger.size)} entries:{" "}
        </span>
      )}
      <EpsilonLine epsilon={summary.epsilon} terms={summaryTerms(summary, ledger)} whom={whom} />
    </>
  );
}

export function roundsText(ledger: Ledger, summary?: LedgerSummary): string {
  const planned = number(ledger.declaration?.plannedRounds);
  const done = summary?.rounds && grouped(summary.rounds);
  if (!planned) return done ?? "–";
  return [done, `of ${grouped(planned)}`].filter(Boolean).join(" ");
}
