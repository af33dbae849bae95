// A chart of lines over rounds or entries, drawn in SVG at the real width, so that text keeps its
// size; with a table as its twin, and exports of both. Colours come from the style sheet by class;
// an exported file gets them resolved.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { download, downloadCsv, type Cells } from "../parts/download";
import { Button } from "../parts/parts";
import { dayWords, momentWords } from "../text/dates";
import { grouped, textNear, textUp } from "../text/numbers";
import { drawingOf, tickText, type Drawing, type Point } from "./scale";

export interface Series {
  label: string;
  points: Point[];
  second?: boolean; // the other colour, dashed
  turn?: number; // of second ones that stand beside each other: a colour and dashes of its own
  until?: boolean; // a value holds until the next; else it is what the one before grew to at most
  end?: string; // written at the last point
}
export interface ChartProps {
  title: string;
  xTitle: string;
  yTitle: string;
  qualifiers: string; // under which all of it holds
  series: Series[];
  plan?: { x: number; label: string; value?: number };
  file: string;
  csv: Cells[]; // the same as a table
  height?: number;
  values?: "up" | "nearest"; // how a point's value is rounded
  since?: number; // milliseconds since 1970 of x = 0, where x is in days
}

const DAY = 86400e3;
export const daysSince = (since: number, time: number) => (time - since) / DAY;
const xText = ({ since }: ChartProps, x: number, span: number) => {
  if (since === undefined) return grouped(Math.round(x));
  return (span < 3 ? momentWords : dayWords)(since + x * DAY);
};

function useWidth(): [RefObject<HTMLDivElement>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([{ contentRect }]) =>
      setWidth(Math.floor(contentRect.width)),
    );
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

const STYLES =
  "stroke fill stroke-width stroke-dasharray font-size font-family font-weight opacity text-anchor";
const SVG = "http://www.w3.org/2000/svg";
function exportSvg(svg: SVGSVGElement, { title, yTitle, qualifiers, file }: ChartProps) {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of STYLES.split(" ")) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  const about = document.createElementNS(SVG, "desc");
  about.textContent = `${title}. ${yTitle}. ${qualifiers}`;
  copy.prepend(about);
  copy.setAttribute("xmlns", SVG);
  download(`${file}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

const styled = (name: string, series: Series) => (series.second ? `${name} second` : name);
const DASHES = ["5 4", "1 4", "9 3 2 3", "9 4", "3 2", "7 3 2 3 2 3", "14 4", "2 2", "12 3 2 3"];
// A browser that knows no relative colours tells them apart by their dashes.
function ownStyle({ turn = 0 }: Series, what: "stroke" | "fill") {
  if (turn === 0) return undefined;
  const colour = `hsl(from var(--second) calc(h + ${40 * turn}) s l)`;
  return what === "fill" ? { fill: colour } : { stroke: colour, strokeDasharray: DASHES[turn] };
}

// One series: the band between its bounds, its line, and what is written at its end.
function Line({ of: series, on, plan }: { of: Series; on: Drawing; plan: ChartProps["plan"] }) {
  const { x, y, path, left } = on;
  const { points, second, end } = series;
  const low = points.filter((point) => point.lower !== null);
  const uppers = (of: Point[]) => of.map((point) => ({ x: point.x, y: point.upper }));
  const lowers = low.map((point) => ({ x: point.x, y: point.lower! })).reverse();
  const last = points.at(-1);
  const drawn = last && Number.isFinite(last.upper) ? { x: x(last.x), y: y(last.upper) } : null;
  const before = drawn && drawn.x > left + 120; // the text stands before the point, or behind it
  const above = second ? -8 : drawn && drawn.y > y(0) - 26 ? -10 : 20;
  return (
    <g>
      {low.length > 1 && (
        <path
          d={`${path(uppers(low))}${path(lowers).replace("M", "L")}Z`}
          class={styled("band", series)}
          style={ownStyle(series, "fill")}
        />
      )}
      <path
        d={path(uppers(points), series.until)}
        class={styled("line", series)}
        style={ownStyle(series, "stroke")}
      />
      {drawn && !second && plan?.value !== undefined && (
        <>
          <path d={path([...uppers([last!]), { x: plan.x, y: plan.value }])} class="extension" />
          <circle cx={x(plan.x)} cy={y(plan.value)} r="4.5" class="hollow" />
        </>
      )}
      {drawn && (!second || series.turn !== undefined) && (
        <circle
          cx={drawn.x}
          cy={drawn.y}
          r="4"
          class={styled("dot", series)}
          style={ownStyle(series, "fill")}
        />
      )}
      {drawn && end && (
        <text
          x={before ? drawn.x - 8 : drawn.x + 8}
          y={drawn.y + above}
          class={styled("end", series)}
          text-anchor={before ? "end" : "start"}
        >
          {end}
        </text>
      )}
    </g>
  );
}

// What the series are at x, by the point that their line's height there comes from.
function pointAt({ points, until }: Series, at: number): Point | undefined {
  const before = points.filter(({ x }) => x <= at).sort((a, b) => a.x - b.x);
  if (until || before.at(-1)?.x === at) return before.at(-1);
  return before.length ? points.find(({ x }) => x > at) : undefined;
}
function Readout({ at, props, on }: { at: number; props: ChartProps; on: Drawing }) {
  const { x, y, width } = on;
  const before = x(at) > width * 0.6;
  const write = props.values === "nearest" ? textNear : textUp;
  return (
    <g>
      <line x1={x(at)} x2={x(at)} y1={on.top} y2={y(0)} class="cursor" />
      {props.series.map((one, i) => {
        const point = pointAt(one, at);
        if (!point) return null;
        return (
          <g key={i}>
            <circle
              cx={x(point.x)}
              cy={y(Number.isFinite(point.upper) ? point.upper : on.greatestY)}
              r="3.5"
              class={styled("dot", one)}
              style={ownStyle(one, "fill")}
            />
            <text
              x={before ? x(at) - 8 : x(at) + 8}
              y={on.top + 14 + 16 * i}
              class="end"
              text-anchor={before ? "end" : "start"}
            >
              {`${xText(props, point.x, on.greatestX)}: ${write(point.upper)}`}
            </text>
          </g>
        );
      })}
    </g>
  );
}

// The grid, its ticks, and the words at its edges.
function Axes({ on, props }: { on: Drawing; props: ChartProps }) {
  const { xTitle, yTitle, plan, since } = props;
  const { x, y, left, right, top, height } = on;
  const anchor = (tick: number) =>
    tick === 0 ? "start" : since !== undefined && x(tick) > right - 30 ? "end" : "middle";
  return (
    <>
      <text x="0" y="14" class="axis-title">
        {yTitle}
      </text>
      {on.yTicks.map((tick) => (
        <g key={tick}>
          <line
            x1={left}
            x2={right}
            y1={y(tick)}
            y2={y(tick)}
            class={tick === 0 ? "axis" : "grid"}
          />
          <text x={left - 8} y={y(tick) + 4} class="tick" text-anchor="end">
            {tickText(tick)}
          </text>
        </g>
      ))}
      {on.xTicks.map((tick) => (
        <text key={tick} x={x(tick)} y={y(0) + 18} class="tick" text-anchor={anchor(tick)}>
          {xText(props, tick, on.greatestX)}
        </text>
      ))}
      <text x={(left + right) / 2} y={height - 6} class="axis-title" text-anchor="middle">
        {xTitle}
      </text>
      {plan && (
        <>
          <line x1={x(plan.x)} x2={x(plan.x)} y1={top - 4} y2={y(0)} class="plan" />
          <text x={x(plan.x)} y={14} class="axis-title" text-anchor="end">
            {plan.label}
          </text>
        </>
      )}
    </>
  );
}

const Twin = ({ title, csv }: ChartProps) => (
  <div class="scroll-box" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
    <table class="plain">
      <thead>
        <tr>
          {Object.keys(csv[0]).map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {csv.map((row, i) => (
          <tr key={i}>
            {Object.entries(row).map(([name, cell]) => (
              <td key={name} class="num">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

export function Chart(props: ChartProps) {
  const [box, width] = useWidth();
  const svg = useRef<SVGSVGElement>(null);
  const [table, setTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const { series, plan, height = 250 } = props;
  const points = series.flatMap((one) => one.points);
  if (plan) points.push({ x: plan.x, lower: null, upper: plan.value ?? 0 });
  const on = drawingOf(points, width, height, props.since === undefined);
  const move = (event: PointerEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    const under = on.xAt(event.clientX - left);
    const value = props.since === undefined ? Math.round(under) : under;
    setAt(value >= 0 && value <= on.greatestX ? value : null);
  };
  const keys = (event: KeyboardEvent) => {
    const share = on.greatestX / 50;
    const step = props.since === undefined ? Math.max(1, Math.round(share)) : share;
    if (event.key === "ArrowRight") setAt(Math.min(on.greatestX, (at ?? 0) + step));
    else if (event.key === "ArrowLeft") setAt(Math.max(0, (at ?? on.greatestX) - step));
    else return;
    event.preventDefault();
  };
  const write = props.values === "nearest" ? textNear : textUp;
  const ends = series.map(({ label, points }) => {
    const last = points.at(-1);
    return `${label}: ${last ? write(last.upper) : "nothing"} at the end`;
  });
  const about = [props.title, props.yTitle, ends.join("; "), props.qualifiers].join(". ");
  return (
    <div class="chart" ref={box}>
      {series.length > 1 && (
        <ul class="legend">
          {series.map((one) => (
            <li key={one.label}>
              <svg width="22" height="8" aria-hidden="true">
                <line
                  x1="0"
                  x2="22"
                  y1="4"
                  y2="4"
                  class={styled("line", one)}
                  style={ownStyle(one, "stroke")}
                />
              </svg>
              {one.label}
            </li>
          ))}
        </ul>
      )}
      {table && <Twin {...props} />}
      {!table && width > 0 && (
        <svg
          ref={svg}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          tabIndex={0}
          aria-label={`${about}. The same as a table: the button below.`}
          onPointerMove={move}
          onPointerLeave={() => setAt(null)}
          onKeyDown={keys}
          onBlur={() => setAt(null)}
        >
          <Axes on={on} props={props} />
          {series.map((one) => (
            <Line key={one.label} of={one} on={on} plan={plan} />
          ))}
          {at !== null && <Readout at={at} props={props} on={on} />}
        </svg>
      )}
      <div class="chart-tools">
        <Button class="link" onClick={() => setTable(!table)}>
          {table ? "As a chart" : "As a table"}
        </Button>
        <Button class="link" onClick={() => downloadCsv(props.file, props.csv)}>
          CSV
        </Button>
        {!table && (
          <Button class="link" onClick={() => svg.current && exportSvg(svg.current, props)}>
            SVG
          </Button>
        )}
      </div>
    </div>
  );
}
