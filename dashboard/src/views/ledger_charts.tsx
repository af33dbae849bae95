// A ledger over its rounds: what it cost, what was said of it, its noise and its sampling.
import type { ComputeEpsilonResponse, Ledger } from "../api/types";
import { Chart, type Series } from "../chart/chart";
import { isLine, type Point } from "../chart/scale";
import { epsilonText, upper } from "../parts/epsilon";
import { Card, Loading } from "../parts/parts";
import { shortName, visible } from "../text/names";
import { grouped, number, plural, textNear } from "../text/numbers";
import { adjacencyWords, regimeShort, schemeWords, unitsOf } from "../text/words";
import { CurveNote, useCurve, type Curve } from "./curve";
import { noiseMultiplier, type Run } from "./entries";
import { SaidOverTime } from "./ledger_said";

function bestLabel(points: Point[]): string {
  const bounded = points.filter((point) => point.lower !== null);
  if (!bounded.length) return "best method, upper end only";
  const widest = Math.max(...bounded.map((point) => point.upper - point.lower!));
  const thin = bounded.length === points.length && widest < points.at(-1)!.upper / 150;
  if (!thin) return "best method and its interval";
  return "best method; at each size its interval is thinner than the line";
}
function seriesOf(best: Curve, renyi: Curve, method: string | undefined): Series[] {
  const end = ({ points }: Curve) => epsilonText(points.at(-1)!.upper);
  const { points } = best;
  const series: Series[] = [{ label: bestLabel(points), points, end: end(best) }];
  if (!isLine(renyi.points) || method === "rdp") return series;
  const label = "method rdp, upper end only";
  return [...series, { label, points: renyi.points, second: true, end: `rdp: ${end(renyi)}` }];
}

interface CostProps {
  ledger: Ledger;
  size: number;
  answer: ComputeEpsilonResponse;
}
function CostChart({ ledger, size, answer }: CostProps) {
  const { name = "", declaration } = ledger;
  const { details, plannedEpsilon } = answer;
  const delta = number(answer.delta);
  const best = useCurve(name, size, delta, "BEST", size > 2);
  const renyi = useCurve(name, size, delta, "RDP", size > 2 && !best.busy && !best.error);
  // What was recorded at one place only has no course: its cost stands above.
  const isOver = !best.busy && !isLine(best.points);
  if (size <= 2 || best.error || isOver) return null;
  const planned = number(declaration?.plannedRounds);
  const rounds = best.points.some((point) => point.x !== point.size);
  const what = rounds ? "rounds" : "entries";
  const done = best.points.at(-1)?.x ?? 0;
  const far = planned >= 4 * done; // beyond what can be drawn
  const corrections = details?.ledgers?.[0]?.corrections?.length ?? 0;
  const unit = unitsOf(details)[0] ?? "record";
  const terms = `${adjacencyWords(details?.adjacency)} ${visible(unit)}`;
  const rest = done >= planned ? ", all done" : "";
  const plan = {
    x: planned,
    label: `plan: ${grouped(planned)} rounds${rest}`,
    value: plannedEpsilon && !rest ? upper(plannedEpsilon) : undefined,
  };
  const csvRow = (point: (typeof best.points)[number]) => ({
    entries: point.size,
    ...(rounds && { rounds: point.x }),
    epsilon_lower: point.lower ?? "",
    epsilon_upper: point.upper,
    delta,
    method: point.method,
    unit,
    adjacency: details?.adjacency,
    parameters: details?.parameters,
    version: point.version,
  });
  return (
    <Card title={`Cost as ${what} were recorded`}>
      {!isLine(best.points) ? (
        <Loading what="the cost at earlier sizes" />
      ) : (
        <Chart
          title={`Cost of ${shortName(name)}`}
          xTitle={`${what} recorded`}
          yTitle={`ε at δ = ${textNear(delta)}`}
          qualifiers={`${terms}, ${regimeShort(details?.regime)}`}
          series={seriesOf(best, renyi, details?.method)}
          file={`cost-${shortName(name)}`}
          plan={planned && rounds && done <= planned && !far ? plan : undefined}
          csv={[...best.points, ...renyi.points].map(csvRow)}
        />
      )}
      {isLine(best.points) && <CurveNote />}
      {planned > 0 && done > 0 && far && (
        <p class="faint pad">The plan of {grouped(planned)} rounds is far beyond the right end.</p>
      )}
      {corrections > 0 && (
        <p class="faint pad">{plural(corrections, "correction")}: they change no number.</p>
      )}
    </Card>
  );
}

const MOST_RUNS = 2000;
// A value of each run, as stairs over the rounds.
function stairs(runs: Run[], of: (run: Run) => number): Point[] {
  let at = 0;
  return runs.slice(0, MOST_RUNS).flatMap((run) => {
    const [from, to] = [at, (at += run.rounds)];
    const upper = of(run);
    return [
      { x: from, lower: null, upper },
      { x: to, lower: null, upper },
    ];
  });
}
interface StairsProps {
  card: string;
  title: string;
  axis: string;
  label: string; // of the line, the file and its column
  column: string;
  points: Point[];
  file: string;
}
const Stairs = ({ card, title, axis, label, column, points, file }: StairsProps) => (
  <Card title={card}>
    <Chart
      title={title}
      xTitle="rounds recorded"
      yTitle={axis}
      qualifiers="as recorded by the trainer"
      height={170}
      values="nearest"
      series={[{ label, points, until: true }]}
      file={`${label}-${file}`}
      csv={points.map((point) => ({ round: point.x, [column]: point.upper }))}
    />
  </Card>
);
function NoiseCharts({ runs, file }: { runs: Run[]; file: string }) {
  const sums = runs.filter((run) => run.queries.length > 0);
  if (sums.length < 2) return null;
  return (
    <div class="two">
      <Stairs
        card="Noise over rounds"
        title="Noise multiplier"
        axis="noise multiplier"
        label="noise"
        column="noise_multiplier"
        points={stairs(sums, (run) => noiseMultiplier(run.queries))}
        file={file}
      />
      <Stairs
        card="Sampling over rounds"
        title="Share of the records in a round"
        axis="share of records in a round"
        label="sampling"
        column="share_of_records"
        points={stairs(sums, (run) => schemeWords(run.scheme ?? {}).rate ?? 1)}
        file={file}
      />
    </div>
  );
}

interface ChartsProps extends Omit<CostProps, "answer"> {
  answer?: ComputeEpsilonResponse;
  runs: Run[];
}
export const LedgerCharts = ({ ledger, size, answer, runs }: ChartsProps) => (
  <>
    {answer && <CostChart ledger={ledger} size={size} answer={answer} />}
    {answer && <SaidOverTime ledger={ledger} answer={answer} />}
    <NoiseCharts runs={runs} file={shortName(ledger.name)} />
  </>
);
