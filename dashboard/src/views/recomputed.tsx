// One operation: what it found of each ledger, beside what was said before.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, CallError, everyPage } from "../api/client";
import type { LedgerSummary, Operation, Recomputed as Result } from "../api/types";
import { useCall, useTask } from "../api/use_call";
import { ticksOf } from "../chart/scale";
import { generation } from "../live";
import { downloadCsv } from "../parts/download";
import { Delta, KnownTo, lower, Number_, upper } from "../parts/epsilon";
import { Icon } from "../parts/icon";
import { A, Awaited, Button, Card, Failed, Progress, Section, Table, Title } from "../parts/parts";
import { ledgerAddress, place } from "../router";
import { Name, said, shortName, visible } from "../text/names";
import { grouped, isAbove, number, plural } from "../text/numbers";
import { Time } from "../text/time";
import { inOrder, sorted, type Orders } from "./ledger_list";
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
    <>
      {strong ? <strong>{bound}</strong> : bound}{" "}
      <span class="faint">
        {summary.method}, {summary.version}
      </span>
    </>
  );
}
function cellsOf(row: Result, greatest: number): ComponentChildren[] {
  const { before, now } = row;
  const ledger = (
    <A href={ledgerAddress(ledgerOf(row))}>
      <Name of={shortName(ledgerOf(row))} />
    </A>
  );
  const size = grouped(now?.size);
  if (now?.refusal) {
    const refusal = (
      <>
        <span class="bad-text">
          <Icon shape="refused" size={14} /> Refused.
        </span>{" "}
        {said(now.refusal.message)}
      </>
    );
    return [ledger, size, <Said of={before} />, refusal];
  }
  return [
    ledger,
    size,
    <Said of={before} />,
    <Said of={now} strong />,
    changeText(row),
    <Dots row={row} greatest={greatest} />,
    now?.epsilon && <KnownTo of={now.epsilon} />,
  ];
}
// Of each order that the address may ask for, what is compared.
const GREATEST = "difference";
const ORDERS: Orders<Result> = {
  [GREATEST]: (row) => (row.now?.refusal ? 1 : -Math.abs(change(row))),
  name: ledgerOf,
  size: ({ now }) => number(now?.size),
  then: ({ before }) => before?.epsilon && upper(before.epsilon),
  now: ({ now }) => now?.epsilon && upper(now.epsilon),
  change: (row) => (row.now?.refusal ? undefined : change(row)),
  known: ({ now }) => now?.epsilon && upper(now.epsilon) - lower(now.epsilon),
};
function Differences({ of: rows, delta }: { of: Result[]; delta: number | string }) {
  const [most, setMost] = useState(200);
  const inTurn = inOrder(rows, ORDERS, GREATEST);
  const bounds = rows.flatMap(({ before, now }) => [upper(before?.epsilon), upper(now?.epsilon)]);
  const greatest = roundAbove(Math.max(0.1, ...bounds.filter(Number.isFinite)));
  const by = (label: string, field: string) => sorted(label, field, GREATEST);
  const scale = (
    <>
      0 … {greatest}, at <Delta of={delta} />
    </>
  );
  return (
    <Section
      title={place.value.query.get("order") ? "Difference" : "Difference, greatest first"}
      side={
        <>
          <Legend of="then">said then</Legend>
          <Legend of="now">says now</Legend>
        </>
      }
    >
      <Table
        class="lines recomputed"
        columns={[
          { ...by("Ledger", "name"), class: "main", width: 170 },
          { ...by("Entries", "size"), class: "num", width: 70 },
          { ...by("Said then, ε at most", "then"), label: "Said then", class: "num", width: 150 },
          { ...by("Says now, ε at most", "now"), label: "Says now", class: "num", width: 150 },
          { ...by("Change", "change"), class: "num", width: 80 },
          { label: "", head: scale, class: "dots-cell", width: 216 },
          { ...by("Known to", "known"), class: "num", width: 130 },
        ]}
        rows={inTurn.slice(0, most).map((row) => ({
          key: ledgerOf(row),
          cells: cellsOf(row, greatest),
        }))}
      />
      {inTurn.length > most && (
        <p class="more">
          <Button onClick={() => setMost(most + 500)}>Show more of {grouped(inTurn.length)}</Button>
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

interface SumsProps {
  of: Operation;
  results: Result[];
  cancel: () => void;
}
function Sums({ of: operation, results, cancel }: SumsProps) {
  const { state, done, total, endTime, resultsLedger, refused } = operation;
  const more = results.filter(({ before, now }) => isAbove(now?.epsilon, before?.epsilon)).length;
  const tiles = {
    "cost less than was stated": operation.lower,
    "cost more than was stated": more,
    "upper bounds that are larger: another method bounds looser": Math.max(
      0,
      number(operation.higher) - more,
    ),
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
      <Sums of={operation} results={results} cancel={cancel} />
      {results.length > 0 && (
        <Differences
          of={results}
          delta={results.find(({ now }) => now?.delta)?.now?.delta ?? request?.delta ?? 0}
        />
      )}
    </>
  );
}
