// A chart of lines over rounds or entries, drawn in SVG at the real width, so that text keeps its size; with a table as
// its twin, and exports of both. Colours come from the style sheet by class; an exported file gets them resolved.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { csvOf, download } from "../parts/parts";
import { grouped, textNear, textUp } from "../text/numbers";
import { pathOf, ticksOf, type Point } from "./scale";

export interface Series {
  label: string;
  points: Point[];
  second?: boolean; // the other colour, dashed
  stairs?: boolean;
  end?: string; // written at the last point
}
export interface Mark { x: number; label: string; title: string }
export interface ChartProps {
  title: string;
  xTitle: string;
  yTitle: ComponentChildren;
  yText: string; // the same as text
  qualifiers: string; // under which all of it holds
  series: Series[];
  plan?: { x: number; label: string; value?: number };
  marks?: Mark[];
  bound?: { y: number; label: string };
  file: string;
  csv: { head: string[]; rows: (string | number)[][] };
  height?: number;
  values?: "up" | "nearest"; // how a point's value is rounded
}

const PAD = { left: 46, right: 18, top: 26, bottom: 42 };

export function useWidth(): [preact.RefObject<HTMLDivElement>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

const STYLES = ["stroke", "fill", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "opacity", "text-anchor"];
function exportSvg(svg: SVGSVGElement, props: ChartProps) {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  const about = document.createElementNS("http://www.w3.org/2000/svg", "desc");
  about.textContent = `${props.title}. ${props.yText}. ${props.qualifiers}`;
  copy.prepend(about);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  download(`${props.file}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}

export function Chart(props: ChartProps) {
  const [box, width] = useWidth();
  const svg = useRef<SVGSVGElement>(null);
  const [table, setTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const { series, plan, height = 250 } = props;
  const write = props.values === "nearest" ? textNear : textUp;
  const all = series.flatMap((one) => one.points);
  const greatestX = Math.max(plan?.x ?? 0, ...all.map((point) => point.x), 1);
  const greatestY = Math.max(...all.map((point) => point.upper).filter(Number.isFinite), plan?.value ?? 0, props.bound?.y ?? 0, 1e-12);
  const yTicks = ticksOf(greatestY * 1.04, 5);
  const topY = Math.max(yTicks[yTicks.length - 1], greatestY * 1.06);
  const inner = Math.max(40, width - PAD.left - PAD.right);
  const x = (value: number) => PAD.left + (value / greatestX) * inner;
  const y = (value: number) => PAD.top + (1 - value / topY) * (height - PAD.top - PAD.bottom);
  const xTicks = ticksOf(greatestX, width < 480 ? 3 : 6).filter((tick) => tick <= greatestX);
  const readout = at === null ? null : series.map((one) => one.points.reduce<Point | null>((best, point) => (point.x <= at && (!best || point.x >= best.x) ? point : best), null));
  const move = (event: PointerEvent) => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left;
    const value = Math.round(((event.clientX - left - PAD.left) / inner) * greatestX);
    setAt(value >= 0 && value <= greatestX ? value : null);
  };
  const keys = (event: KeyboardEvent) => {
    const step = Math.max(1, Math.round(greatestX / 50));
    if (event.key === "ArrowRight") setAt(Math.min(greatestX, (at ?? 0) + step));
    else if (event.key === "ArrowLeft") setAt(Math.max(0, (at ?? greatestX) - step));
    else return;
    event.preventDefault();
  };
  return <div class="chart" ref={box}>
    {series.length > 1 && <ul class="legend">{series.map((one) => <li key={one.label}>
      <svg width="22" height="8" aria-hidden="true"><line x1="0" x2="22" y1="4" y2="4" class={one.second ? "line second" : "line"} /></svg>{one.label}</li>)}</ul>}
    {table ? <div class="scroll-box" tabIndex={0} role="region" aria-label={`${props.title}, as a table`}><table class="plain"><thead><tr>{props.csv.head.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
      <tbody>{props.csv.rows.map((row, i) => <tr key={i}>{row.map((cell, j) => <td key={j} class="num">{cell}</td>)}</tr>)}</tbody></table></div>
      : width > 0 && <svg ref={svg} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" tabIndex={0}
        aria-label={`${props.title}. ${props.yText}. ${series.map((one) => `${one.label}: ${one.points.length ? write(one.points[one.points.length - 1].upper) : "nothing"} at the end`).join("; ")}. ${props.qualifiers}. The same as a table: the button below.`}
        onPointerMove={move} onPointerLeave={() => setAt(null)} onKeyDown={keys} onBlur={() => setAt(null)}>
        <text x="0" y="14" class="axis-title">{props.yText}</text>
        {yTicks.map((tick) => <g key={tick}><line x1={PAD.left} x2={PAD.left + inner} y1={y(tick)} y2={y(tick)} class={tick === 0 ? "axis" : "grid"} />
          <text x={PAD.left - 8} y={y(tick) + 4} class="tick" text-anchor="end">{textNear(tick, 3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")}</text></g>)}
        {xTicks.map((tick) => <text key={tick} x={x(tick)} y={height - PAD.bottom + 18} class="tick" text-anchor={tick === 0 ? "start" : "middle"}>{grouped(Math.round(tick))}</text>)}
        <text x={PAD.left + inner / 2} y={height - 6} class="axis-title" text-anchor="middle">{props.xTitle}</text>
        {plan && <><line x1={x(plan.x)} x2={x(plan.x)} y1={PAD.top - 4} y2={y(0)} class="plan" />
          <text x={x(plan.x)} y={14} class="axis-title" text-anchor="end">{plan.label}</text></>}
        {props.bound && <><line x1={PAD.left} x2={PAD.left + inner} y1={y(props.bound.y)} y2={y(props.bound.y)} class="plan" />
          <text x={PAD.left + 6} y={y(props.bound.y) - 6} class="axis-title">{props.bound.label}</text></>}
        {series.map((one) => {
          const low = one.points.filter((point) => point.lower !== null);
          const band = low.length > 1 && `${pathOf(low.map((point) => ({ x: point.x, y: point.upper })), x, y)}${pathOf([...low].reverse().map((point) => ({ x: point.x, y: point.lower! })), x, y).replace("M", "L")}Z`;
          const last = one.points[one.points.length - 1];
          return <g key={one.label}>
            {band && <path d={band} class={one.second ? "band second" : "band"} />}
            <path d={pathOf(one.points.map((point) => ({ x: point.x, y: point.upper })), x, y, one.stairs)} class={one.second ? "line second" : "line"} />
            {last && Number.isFinite(last.upper) && <>
              {plan?.value !== undefined && !one.second && <><line x1={x(last.x)} y1={y(last.upper)} x2={x(plan.x)} y2={y(plan.value)} class="extension" />
                <circle cx={x(plan.x)} cy={y(plan.value)} r="4.5" class="hollow" /></>}
              {!one.second && <circle cx={x(last.x)} cy={y(last.upper)} r="4" class="dot" />}
              {one.end && <text x={x(last.x) > PAD.left + 120 ? x(last.x) - 8 : x(last.x) + 8} y={one.second ? y(last.upper) - 8 : y(last.upper) + (y(last.upper) > y(0) - 26 ? -10 : 20)} class={one.second ? "end second" : "end"} text-anchor={x(last.x) > PAD.left + 120 ? "end" : "start"}>{one.end}</text>}
            </>}
          </g>;
        })}
        {props.marks?.map((mark, i) => <g key={i}><title>{mark.title}</title><line x1={x(mark.x)} x2={x(mark.x)} y1={y(0) - 7} y2={y(0) + 4} class="mark" />
          <text x={x(mark.x)} y={y(0) - 10} class="tick" text-anchor="middle">{mark.label}</text></g>)}
        {at !== null && readout && <g><line x1={x(at)} x2={x(at)} y1={PAD.top} y2={y(0)} class="cursor" />
          {readout.map((point, i) => point && <g key={i}><circle cx={x(point.x)} cy={y(Number.isFinite(point.upper) ? point.upper : topY)} r="3.5" class={series[i].second ? "dot second" : "dot"} />
            <text x={x(at) > width * 0.6 ? x(at) - 8 : x(at) + 8} y={PAD.top + 14 + 16 * i} class="end" text-anchor={x(at) > width * 0.6 ? "end" : "start"}>{`${grouped(point.x)}: ${write(point.upper)}`}</text></g>)}</g>}
      </svg>}
    <div class="chart-tools">
      <button type="button" class="link" onClick={() => setTable(!table)}>{table ? "As a chart" : "As a table"}</button>
      <button type="button" class="link" onClick={() => download(`${props.file}.csv`, "text/csv", csvOf([props.csv.head, ...props.csv.rows]))}>CSV</button>
      {!table && <button type="button" class="link" onClick={() => svg.current && exportSvg(svg.current, props)}>SVG</button>}
    </div>
  </div>;
}
