// Axes: from 0, with at most `most` round ticks.
export function ticksOf(greatest: number, most: number): number[] {
  if (!(greatest > 0) || !Number.isFinite(greatest)) return [0, 1];
  const rough = greatest / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999)!;
  const ticks: number[] = [];
  for (let i = 0; i * step < greatest * 1.0001; i++) ticks.push(Number((i * step).toPrecision(10)));
  return ticks;
}

export interface Point { x: number; lower: number | null; upper: number }
export function pathOf(points: { x: number; y: number }[], x: (value: number) => number, y: (value: number) => number, stairs = false): string {
  let path = "";
  let before = NaN;
  for (const point of points) {
    if (!Number.isFinite(point.y)) continue;
    const [px, py] = [x(point.x).toFixed(1), y(point.y).toFixed(1)];
    if (!path) path = `M${px} ${py}`;
    else path += stairs ? `H${px}${point.y === before ? "" : `V${py}`}` : `L${px} ${py}`;
    before = point.y;
  }
  return path;
}
