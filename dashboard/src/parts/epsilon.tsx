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
import { Name, Names, visible } from "../text/names";

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
const lower = (interval: Interval) => number(interval.lower);
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
  return (
    <>
      {what} ≤ <Number_ of={upper(interval)} round="up" />
    </>
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
        <span class="epsilon">
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
      {children}
    </div>
  );
}

// In a table: unit stands under the row's name where `unit` is left out, δ always here.
export function EpsilonCell({
  epsilon,
  terms,
  strip = true,
}: {
  epsilon: Interval;
  terms: Terms;
  strip?: boolean;
}) {
  const { regime, unit } = terms;
  return (
    <div class="epsilon-cell">
      <span class="nowrap">
        <strong>
          <Bound of={epsilon} regime={regime} />
        </strong>{" "}
        <small>
          <AtDelta terms={terms} />
        </small>
      </span>
      {strip && !isOdometer(regime) && <Strip of={upper(epsilon)} />}
      <small class="faint">
        {adjacencyWords(terms.adjacency)} {unit.length === 1 ? <Name of={unit[0]} /> : "record"} ·{" "}
        {regimeShort(regime, upper(epsilon))} · <KnownTo of={epsilon} />
      </small>
    </div>
  );
}

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

// 0.1 to 50, by powers of ten. The marks at 1 and 10 are the field's custom, not a verdict: no
// colour says so.
function Strip({ of: epsilon }: { of: number }) {
  const width = 176;
  const share = (x: number) => Math.min(1, Math.max(0, Math.log(x / 0.1) / Math.log(500)));
  const at = (x: number) => 4 + (width - 8) * share(x);
  const end = epsilon > 0 ? at(epsilon) : 4;
  return (
    <svg
      class="strip"
      width={width}
      height="24"
      viewBox={`0 0 ${width} 24`}
      role="img"
      aria-label={`on a scale from 0.1 to 50: ${textUp(epsilon)}`}
    >
      <line x1="4" x2={width - 4} y1="6" y2="6" class="strip-line" />
      {[0.1, 1, 10].map((tick) => (
        <g key={tick}>
          <line x1={at(tick)} x2={at(tick)} y1="2" y2="10" class="strip-line" />
          <text
            x={tick === 0.1 ? 0 : at(tick)}
            y="21"
            text-anchor={tick === 0.1 ? "start" : "middle"}
          >
            {tick}
          </text>
        </g>
      ))}
      <line x1="4" x2={end} y1="6" y2="6" class="strip-known" />
      {epsilon > 50 ? (
        <path d={`M${width - 9} 2.5 l6 3.5 -6 3.5z`} class="strip-dot" />
      ) : (
        <circle cx={end} cy="6" r="4" class="strip-dot" />
      )}
    </svg>
  );
}
export const TierNote = () => (
  <p class="footnote">
    Marks at 1 and 10 are customary limits in the field, not a law: up to 1 “strong”, up to 10
    “reasonable” (Ponomareva et al. 2023). Numbers under different adjacencies or units must not be
    compared.
  </p>
);
