// A list of any length: a few rows are drawn, at the place where the reader looks. Browsers cap the
// height of an element, so the scroll bar stands for more pixels than it has; the wheel and the
// keys then still move by rows.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

const MOST_PIXELS = 8_000_000;

export function LongList({
  count,
  rowHeight,
  height,
  label,
  head,
  row,
  need,
  start,
}: {
  count: number;
  rowHeight: number;
  height: number;
  label: string;
  head: ComponentChildren;
  row: (index: number) => ComponentChildren;
  need: (first: number, last: number) => void;
  start?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const full = count * rowHeight;
  const view = Math.min(height, full);
  const spacer = Math.min(full, MOST_PIXELS);
  const factor = spacer > view ? (full - view) / (spacer - view) : 1;
  const [top, setTop] = useState(0); // in pixels of the full list
  const exact = useRef(0);
  const moveTo = (pixels: number) => {
    exact.current = Math.max(0, Math.min(full - view, pixels));
    setTop(exact.current);
    if (box.current) box.current.scrollTop = exact.current / factor;
  };
  const scrolled = () => {
    const at = box.current!.scrollTop;
    // Its own echo, or the reader's thumb?
    if (Math.abs(at - exact.current / factor) < 1.5) return;
    exact.current = Math.min(full - view, at * factor);
    setTop(exact.current);
  };
  useEffect(() => {
    const element = box.current;
    if (!element || factor <= 1) return;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      moveTo(exact.current + (event.deltaMode === 1 ? event.deltaY * rowHeight : event.deltaY));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [factor, count]);
  // A list that has grown has another factor: the scroll bar moves, the rows in view do not.
  useLayoutEffect(() => {
    if (box.current && factor > 1) box.current.scrollTop = exact.current / factor;
  }, [factor]);
  useEffect(() => {
    if (start !== undefined) moveTo(start * rowHeight - view / 3);
  }, [start]);
  const first = Math.max(0, Math.floor(top / rowHeight) - 2);
  const last = Math.min(count - 1, first + Math.ceil(view / rowHeight) + 4);
  useEffect(() => need(first, last), [first, last, count]);
  const keys = (event: KeyboardEvent) => {
    const step: Record<string, number> = {
      ArrowDown: rowHeight,
      ArrowUp: -rowHeight,
      PageDown: view,
      PageUp: -view,
      Home: -full,
      End: full,
    };
    if (!(event.key in step) || event.target !== box.current) return;
    event.preventDefault();
    moveTo(exact.current + step[event.key]);
  };
  const base = top / factor;
  const rows = [];
  for (let i = first; i <= last; i++) {
    const place = base + (i * rowHeight - top);
    rows.push(
      <div
        key={i}
        class="long-row"
        role="row"
        aria-rowindex={i + 2}
        ref={(element) => {
          if (element) element.style.transform = `translateY(${place}px)`;
        }}
      >
        {row(i)}
      </div>,
    );
  }
  return (
    <div class="long" role="table" aria-label={label} aria-rowcount={count + 1}>
      <div role="rowgroup">
        <div role="row" class="long-head" aria-rowindex={1}>
          {head}
        </div>
      </div>
      <div
        class="long-box"
        role="rowgroup"
        tabIndex={0}
        aria-label={`${label}: arrow keys move`}
        ref={box}
        onScroll={scrolled}
        onKeyDown={keys}
        style={`height:${view}px`}
      >
        <div style={`height:${spacer}px`} role="presentation" class="long-space">
          {rows}
        </div>
      </div>
    </div>
  );
}
