// One operation: what it found of each ledger, beside what was said before.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, CallError, everyPage } from "../api/client";
import type { LedgerSummary, Operation, Recomputed as Result } from "../api/types";
import { useCall, useTask } from "../api/use_call";
import { ticksOf } from "../chart/scale";
import { generation } from "../live";
import { downloadCsv } from "../parts/download";
import { Delta, KnownTo, Number_, upper } from "../parts/epsilon";
import { Icon } from "../parts/icon";
import { A, Awaited, Button, Card, Failed, Progress, Section, Table, Title } from "../parts/parts";
import { ledgerAddress } from "../router";
import { Name, said, shortName, visible } from "../text/names";
import { grouped, number, plural } from "../text/numbers";
import { Time } from "../text/time";
import { Asked, State } from "./recompute";

const MOST_READ = 20000;
async function readAll(name: string, signal: AbortSignal): Promise<Result[]> {
  const all: Result[] = [];
  await everyPage(
    "RecomputeService/ListRecomputed",
    { name, pageSize: 1000 },
    ({ results = [] }) => all.push(...results) < MOST_READ,
    signal,
  );
  return all;
}

const ledgerOf = ({ now, before }: Result) => now?.ledger ?? before?.ledger ?? "";
// Infinite where there is no bound any more.
function change({ before, now }: Result): number {
  if (!before?.epsilon || !now?.epsilon || upper(before.epsilon) === upper(now.epsilon)) return 0;
  return upper(before.epsilon) === Infinity ? -1 : upper(now.epsilon) / upper(before.epsilon) - 1;
}
function changeText(result: Result): string {
  if (!result.before?.epsilon) return "new";
  const share = change(result);
  if (share === 0) return "none";
  if (share === Infinity) return "no bound any more";
  if (upper(result.before.epsilon) === Infinity) return "had no bound";
  const percent = Math.abs(share * 100);
  return `${share < 0 ? "−" : "+"}${percent < 0.1 ? "< 0.1" : percent.toFixed(1)} %`;
}

// A round number that is no less: the end of an axis that holds it.
function roundAbove(most: number) {
  const [, step] = ticksOf(most, 6);
  return Number((Math.ceil(most / step) * step).toPrecision(10));
}
function Dots({ row, greatest }: { row: Result; greatest: number }) {
  const width = 200;
  const x = (value: number) => 6 + (width - 12) * Math.min(1, value / greatest);
  const place = (summary: LedgerSummary | undefined) =>
    summary?.epsilon ? x(upper(summary.epsilon)) : null;
  const [then, now] = [place(row.before), place(row.now)];
  return (
    <svg class="dots" width={width} height="16" aria-hidden="true">
      <line x1="6" x2={width - 6} y1="8" y2="8" />
      {then !== null && now !== null && <line class="between" x1={then} x2={now} y1="8" y2="8" />}
      {then !== null && <circle class="then" cx={then} cy="8" r="4" />}
      {now !== null && <circle class="now" cx={now} cy="8" r="4" />}
    </svg>
  );
}
const Legend = ({ of: kind, children }: { of: string; children: ComponentChildren }) => (
  <span>
    <svg class="dots" width="12" height="12" aria-hidden="true">
      <circle class={kind} cx="6" cy="6" r="4" />
    </svg>{" "}
    {children}
  </span>
);

function Said({ of: summary, strong }: { of: LedgerSummary | undefined; strong?: boolean }) {
  if (!summary?.epsilon) return <span class="faint">nothing</span>;
  const bound = <Number_ of={upper(summary.epsilon)} round="up" />;
  return (
    <div>
      {strong ? <strong>{bound}</strong> : bound}
      <small>
        {summary.method}, {summary.version}
      </small>
    </div>
  );
}
function cellsOf(row: Result, greatest: number): ComponentChildren[] {
  const { before, now } = row;
  const ledger = (
    <>
      <A href={ledgerAddress(ledgerOf(row))}>
        <Name of={shortName(ledgerOf(row))} />
      </A>
      <small>{grouped(now?.size)} entries</small>
    </>
  );
  if (now?.refusal) {
    const refusal = (
      <div>
        <span class="bad-text">
          <Icon shape="refused" size={14} /> Refused.
        </span>{" "}
        {said(now.refusal.message)}
      </div>
    );
    return [ledger, <Said of={before} />, refusal];
  }
  return [
    ledger,
    <Said of={before} />,
    <Said of={now} strong />,
    changeText(row),
    <Dots row={row} greatest={greatest} />,
    <span>{now?.epsilon && <KnownTo of={now.epsilon} />}</span>,
  ];
}
function Differences({ of: rows, delta }: { of: Result[]; delta: number | string }) {
  const [most, setMost] = useState(200);
  const refused = ({ now }: Result) => Number(!!now?.refusal);
  const sorted = [...rows].sort(
    (a, b) => refused(a) - refused(b) || Math.abs(change(b)) - Math.abs(change(a)),
  );
  const bounds = rows.flatMap(({ before, now }) => [upper(before?.epsilon), upper(now?.epsilon)]);
  const greatest = roundAbove(Math.max(0.1, ...bounds.filter(Number.isFinite)));
  const scale = (
    <>
      0 … {greatest}, at <Delta of={delta} />
    </>
  );
  return (
    <Section
      title="Difference, greatest first"
      side={
        <>
          <Legend of="then">said then</Legend>
          <Legend of="now">says now</Legend>
        </>
      }
    >
      <Table
        class="recomputed"
        columns={[
          { label: "Ledger", class: "main" },
          { label: "Said then", head: "Said then, ε at most", class: "num" },
          { label: "Says now", head: "Says now, ε at most", class: "num" },
          { label: "Change", class: "num" },
          { label: "", head: scale, class: "dots-cell" },
          { label: "Known to", class: "num" },
        ]}
        rows={sorted.slice(0, most).map((row) => ({
          key: ledgerOf(row),
          cells: cellsOf(row, greatest),
        }))}
      />
      {sorted.length > most && (
        <p class="more">
          <Button onClick={() => setMost(most + 500)}>Show more of {grouped(sorted.length)}</Button>
        </p>
      )}
      <p class="footnote">
        A smaller number does not mean that less was released. The same entries were looked at more
        closely. Unless the question says otherwise, adjacency, unit and parameters are each
        ledger’s own.
      </p>
    </Section>
  );
}

function Sums({ of: operation, cancel }: { of: Operation; cancel: () => void }) {
  const { state, done, total, endTime, resultsLedger, refused } = operation;
  const tiles = {
    "cost less than was stated": operation.lower,
    "cost more than was stated": operation.higher,
    refused,
    "the same, or new": number(operation.unchanged) + number(operation.fresh),
  };
  return (
    <Card flush>
      <div class="tiles">
        {Object.entries(tiles).map(([what, count]) => (
          <div key={what} class={what === "refused" && number(refused) ? "bad" : ""}>
            <strong>{grouped(count)}</strong>
            <span>{what}</span>
          </div>
        ))}
      </div>
      <div style="padding: 10px 20px 14px">
        <Progress of={number(done)} total={Math.max(1, number(total))} label="Ledgers asked" />
        <div class="section-head">
          <span class="muted">
            {grouped(done)} of {grouped(total)}
            {endTime && (
              <>
                {" "}
                · ended <Time of={endTime} />
              </>
            )}
            {resultsLedger && (
              <>
                {" "}
                · kept in{" "}
                <A href={ledgerAddress(resultsLedger)}>
                  <Name of={shortName(resultsLedger)} />
                </A>
              </>
            )}
          </span>
          {state === "RUNNING" && (
            <Button class="link" onClick={cancel}>
              Cancel
            </Button>
          )}
        </div>
      </div>
    </Card>
  );
}

const csvRow = (row: Result) => {
  const { before, now } = row;
  const bounds = ({ epsilon }: LedgerSummary = {}) =>
    epsilon ? [number(epsilon.lower), upper(epsilon)] : [];
  const [[lowerThen, upperThen], [lowerNow, upperNow]] = [bounds(before), bounds(now)];
  return {
    ledger: ledgerOf(row),
    entries_then: before?.size,
    epsilon_lower_then: lowerThen,
    epsilon_upper_then: upperThen,
    method_then: before?.method,
    version_then: before?.version,
    entries_now: now?.size,
    epsilon_lower_now: lowerNow,
    epsilon_upper_now: upperNow,
    method_now: now?.method,
    version_now: now?.version,
    delta: now?.delta,
    refusal: now?.refusal?.reason,
  };
};

export function Recomputed({ id }: { id: string }) {
  const name = `operations/${id}`;
  const [tick, setTick] = useState(0);
  const look = () => setTick((n) => n + 1);
  const found = useCall("RecomputeService/GetOperation", { name }, tick + generation.value);
  const { data: operation } = found;
  const { done, state } = operation ?? {};
  const { data: results = [], error } = useTask(
    async (signal) => (state ? readAll(name, signal) : []),
    [name, done, state],
  );
  const [failed, setFailed] = useState<CallError | undefined>();
  const cancel = () => call("RecomputeService/CancelOperation", { name }).then(look, setFailed);
  useEffect(() => {
    if (state !== "RUNNING") return;
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [state]);
  if (!operation) {
    return (
      <>
        <Title trail={<A href="/recompute">Recompute</A>} title={`Operation ${visible(id)}`} />
        <Awaited of={found} what="this operation" />
      </>
    );
  }
  const { total, request } = operation;
  return (
    <>
      <Title
        trail={
          <>
            <A href="/recompute">Recompute</A> / operation <Name of={id} />
          </>
        }
        title={`What is said now of ${plural(total, "old answer")}`}
        about={
          <>
            Asked for: <Asked of={request} />. Old answers stay on record.
          </>
        }
        chips={<State of={state} />}
        actions={
          <>
            <Button
              disabled={!results.length}
              onClick={() => downloadCsv(`recompute-${id}`, results.map(csvRow))}
            >
              CSV
            </Button>
            <A class="button" href="/recompute">
              New recompute
            </A>
          </>
        }
      />
      {failed && <Failed error={failed} what="the cancellation" />}
      {error && <Failed error={error} what="the results" />}
      <Sums of={operation} cancel={cancel} />
      {results.length > 0 && (
        <Differences
          of={results}
          delta={results.find(({ now }) => now?.delta)?.now?.delta ?? request?.delta ?? 0}
        />
      )}
    </>
  );
}
