// ε as this page prints it: the upper end, rounded up, never without δ, adjacency, regime and unit.
// No other file may write the sign for "ε at most" (tests/rules.test.ts).
import type { AnswerDetails, Interval } from "../api/types";
import type { ComponentChildren } from "preact";
import { digitsOf, number, type Digits, type Direction, textUp } from "../text/numbers";
import {
  adjacencyWords,
  isGuarantee,
  isOdometer,
  methodWords,
  regimeShort,
  unitsOf,
} from "../text/words";
import { Names, visible } from "../text/names";
import { Doubts } from "./doubts";

function Num({ of: digits }: { of: Digits }) {
  if (digits.exponent === null) return <>{digits.mantissa}</>;
  const power = (
    <>
      10<sup>{String(digits.exponent).replace("-", "−")}</sup>
    </>
  );
  if (digits.mantissa === "1") return power;
  return (
    <>
      {digits.mantissa} × {power}
    </>
  );
}
interface NumberProps {
  of: number;
  round?: Direction;
  digits?: number;
}
export const Number_ = ({ of: x, round = "nearest", digits = 4 }: NumberProps) => (
  <Num of={digitsOf(x, round, digits)} />
);
// δ as proto JSON has it.
type Probability = number | string;
export const Delta = ({ of: delta }: { of: Probability }) => (
  <span class="delta">
    δ = <Number_ of={Number(delta)} />
  </span>
);

export const upper = (interval: Interval | undefined) => number(interval?.upper);
export const lower = (interval: Interval) => number(interval.lower);
// A bound that nothing is known below of: an upper end only, never "[0, x]".
export const hasLower = (interval: Interval) =>
  lower(interval) > 0 && Number.isFinite(upper(interval));

export function KnownTo({ of: interval }: { of: Interval }) {
  if (upper(interval) === Infinity) return <>no bound</>;
  if (!hasLower(interval)) return <>upper end only</>;
  const gap = upper(interval) - lower(interval);
  if (gap === 0) return <>exact</>;
  return (
    <span class="nowrap">
      within <Num of={digitsOf(gap, "up", 1)} /> below
    </span>
  );
}

// An odometer's number is no ε of differential privacy, and never stands under its sign.
function Bound({ of: interval, regime }: { of: Interval; regime?: string }) {
  const what = isOdometer(regime) ? "loss" : "ε";
  if (upper(interval) === Infinity) return <>{what} has no bound</>;
  const least = hasLower(interval) ? `lower end ${lower(interval)}` : "no lower end";
  return (
    <span title={`upper end ${upper(interval)}, ${least}`}>
      {what} ≤ <Number_ of={upper(interval)} round="up" />
    </span>
  );
}
const AtDelta = ({ terms }: { terms: Terms }) => (
  <>
    {isOdometer(terms.regime) ? "but for" : "at"} <Delta of={terms.delta} />
  </>
);

// What a number holds under.
export interface Terms {
  delta: Probability;
  unit: string[];
  adjacency: string | undefined;
  regime: string | undefined;
  group?: number;
}
export const termsOf = (details: AnswerDetails | undefined, delta: Probability = 0): Terms => ({
  delta,
  unit: unitsOf(details),
  adjacency: details?.adjacency,
  regime: details?.regime,
  group: number(details?.groupSize),
});

export function EpsilonBlock({
  epsilon,
  details,
  terms,
  children,
}: {
  epsilon: Interval;
  details?: AnswerDetails;
  terms: Terms;
  children?: ComponentChildren;
}) {
  const bound = upper(epsilon);
  const rows: [string, ComponentChildren][] = [
    [
      isGuarantee(terms.regime, bound) ? "protects" : "speaks of",
      <>
        {(terms.group ?? 1) > 1 ? `${terms.group} records at once of ` : "one "}
        <Names of={terms.unit.length ? terms.unit : ["record"]} />
      </>,
    ],
    ["neighbours", adjacencyWords(terms.adjacency)],
    ["method", methodWords(details?.method)],
    ["true value", <KnownTo of={epsilon} />],
  ];
  return (
    <div class="epsilon-block">
      <p class="epsilon-line">
        <span class={`epsilon ${Number.isFinite(bound) ? "" : "bad-text"}`}>
          <Bound of={epsilon} regime={terms.regime} />
        </span>{" "}
        <AtDelta terms={terms} />
      </p>
      <dl class="terms">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {details?.guarantee && <p class="guarantee">{visible(details.guarantee)}</p>}
      {details && <Doubts of={details} />}
      {children}
    </div>
  );
}

// What a number of one record protects: its unit, and what neighbours differ in.
export const Protects = ({ of: { unit, adjacency } }: { of: Terms }) => (
  <>
    <Names of={unit.length ? unit : ["record"]} /> ·{" "}
    {adjacency ? adjacencyWords(adjacency) : "neighbours differ"}
  </>
);
interface CellProps {
  epsilon: Interval;
  terms: Terms;
}
// In a row of a list, on one line. Whom it protects stands in a column beside, unless `whom`.
export const EpsilonLine = ({ epsilon, terms, whom }: CellProps & { whom: boolean }) => (
  <>
    <strong class={Number.isFinite(upper(epsilon)) ? "" : "bad-text"}>
      <Bound of={epsilon} regime={terms.regime} />
    </strong>{" "}
    <AtDelta terms={terms} />
    <span class="muted">
      {`, ${regimeShort(terms.regime, upper(epsilon))}`}
      {whom && (
        <>
          {" · "}
          <Protects of={terms} />
        </>
      )}
    </span>
  </>
);
// In a cell of its own lines.
export const EpsilonCell = ({ epsilon, terms }: CellProps) => (
  <div class="epsilon-cell">
    <span>
      <EpsilonLine epsilon={epsilon} terms={terms} whom={false} />
    </span>
    <small class="faint">
      <Protects of={terms} /> · <KnownTo of={epsilon} />
    </small>
  </div>
);

interface EpsilonWordsProps {
  epsilon: Interval;
  delta: Probability | undefined;
}
export const EpsilonWords = ({ epsilon, delta = 0 }: EpsilonWordsProps) => (
  <span class="nowrap">
    <Bound of={epsilon} /> (<Delta of={delta} />)
  </span>
);

// For the text of a chart, which has no markup; what it holds under stands in the chart's title.
export const epsilonText = (bound: number) =>
  bound === Infinity ? "no bound" : `ε ≤ ${textUp(bound)}`;

export const TierNote = () => (
  <p class="footnote">
    Customary in the field, and no law: up to 1 is called “strong”, up to 10 “reasonable”
    (Ponomareva et al. 2023). Numbers under different neighbours or units must not be compared.
  </p>
);
