// Where a chart's values stand. Axes begin at 0.
import { textNear } from "../text/numbers";

// At most `most` round ticks; of what is counted, `whole` ones.
export function ticksOf(greatest: number, most: number, whole = false): number[] {
  if (!(greatest > 0) || !Number.isFinite(greatest)) return [0, 1];
  const rough = greatest / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fits = (step: number) => step >= rough * 0.999 && (!whole || Number.isInteger(step));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find(fits)!;
  const ticks: number[] = [];
  for (let i = 0; i * step < greatest * 1.0001; i++) ticks.push(Number((i * step).toPrecision(10)));
  return ticks;
}
export const tickText = (tick: number) =>
  textNear(tick, 3)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

export interface Point {
  x: number;
  lower: number | null;
  upper: number;
}
// Whether something is known at more than one place. That nothing costs nothing is no course.
export const isLine = (points: Point[]) =>
  new Set(points.filter(({ upper }) => upper > 0).map(({ x }) => x)).size > 1;

const PAD = { left: 46, right: 18, top: 26, bottom: 42 };

export type Drawing = ReturnType<typeof drawingOf>;
const MINUTE = 1 / 1440;
// `counted`: x counts rounds or entries; else it is in days.
export function drawingOf(points: Point[], width: number, height: number, counted = true) {
  const greatestX = Math.max(counted ? 1 : MINUTE, ...points.map((point) => point.x));
  const most = Math.max(1e-12, ...points.map((point) => point.upper).filter(Number.isFinite));
  const yTicks = ticksOf(most * 1.04, 5);
  const greatestY = Math.max(yTicks.at(-1)!, most * 1.06);
  const { left, top } = PAD;
  const inner = Math.max(40, width - left - PAD.right);
  const x = (value: number) => left + (value / greatestX) * inner;
  const y = (value: number) => top + (1 - value / greatestY) * (height - top - PAD.bottom);
  // Steps through the points that are finite. Between two of them the line stands at the later one
  // (what a cost that only grows does not exceed), or at the earlier one: what was so until then.
  const path = (line: { x: number; y: number }[], until = false) => {
    let path = "";
    let before = NaN;
    for (const point of line) {
      if (!Number.isFinite(point.y)) continue;
      const [px, py] = [x(point.x).toFixed(1), y(point.y).toFixed(1)];
      const rise = point.y === before ? "" : `V${py}`;
      if (!path) path = `M${px} ${py}`;
      else path += until ? `H${px}${rise}` : `${rise}H${px}`;
      before = point.y;
    }
    return path;
  };
  return {
    width,
    height,
    left,
    right: left + inner,
    top,
    greatestX,
    greatestY,
    x,
    y,
    path,
    xAt: (pixels: number) => ((pixels - left) / inner) * greatestX,
    xTicks: ticksOf(greatestX, width < 480 ? 3 : 6, counted).filter((tick) => tick <= greatestX),
    yTicks,
  };
}
