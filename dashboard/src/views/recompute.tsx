// What a better method says of what was answered before: operations, and what each found.
import { useEffect, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { Method, Operation, Recomputed, StartRecomputeRequest } from "../api/types";
import { useCall } from "../api/use_call";
import { generation } from "../live";
import { Delta, hasLower, KnownTo, Number_, upper } from "../parts/epsilon";
import { Chip, Icon } from "../parts/icon";
import { A, Card, csvOf, download, Empty, Failed, Loading, Section, Title } from "../parts/parts";
import { go, ledgerAddress } from "../router";
import { Name, said, shortName, visible } from "../text/names";
import { count, double, grouped, plural } from "../text/numbers";
import { Time } from "../text/time";
import { methodWords } from "../text/words";
import { ticksOf } from "../chart/scale";
import { OPERATIONS } from "./requests";

const idOf = (operation: Operation) => (operation.name ?? "").replace(/^operations\//, "");

function State({ operation }: { operation: Operation }) {
  switch (operation.state) {
    case "RUNNING": return <Chip shape="open" tone="info">running</Chip>;
    case "DONE": return <Chip shape="closed" tone="plain">done</Chip>;
    case "CANCELLED": return <Chip shape="unknown" tone="plain">cancelled</Chip>;
    default: return <Chip shape="unknown" tone="plain">{operation.state ?? "not known"}</Chip>;
  }
}
function askedWords(request: StartRecomputeRequest | undefined) {
  const method = request?.options?.method;
  return <>{request?.filter ? <>ledgers that fit <code>{visible(request.filter)}</code></> : "all ledgers"}{request?.answeredBeforeVersion && <> answered before version {visible(request.answeredBeforeVersion)}</>}, {request?.delta ? <>at <Delta of={request.delta} /></> : "at the server’s usual δ"}, by {method && method !== "BEST" && method !== "METHOD_UNSPECIFIED" ? methodWords(method.toLowerCase()) : "the best method"}</>;
}

function Begin({ started }: { started: () => void }) {
  const [error, setError] = useState<CallError | undefined>();
  const [busy, setBusy] = useState(false);
  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const random = crypto.getRandomValues(new Uint8Array(16));
    const request: StartRecomputeRequest = { requestId: `page-${Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("")}`, parent: "projects/-", filter: text("filter"), answeredBeforeVersion: text("version"), options: { method: (text("method") || "BEST") as Method } };
    if (Number(text("delta")) > 0) request.delta = Number(text("delta"));
    setBusy(true);
    try {
      const operation = await call("RecomputeService/StartRecompute", request);
      started();
      go(`/recompute/${encodeURIComponent(idOf(operation))}`);
    } catch (failed) {
      setError(failed as CallError);
      setBusy(false);
    }
  };
  return <Card title="Ask again"><p class="muted">Old answers stay on record; the new ones stand beside them, in a ledger of the server’s own.</p>
    {error && <Failed error={error} what="a new operation" />}
    <form onSubmit={begin} class="plan-form">
      <label class="field">Ledgers (filter; empty: all)<input name="filter" placeholder={'dataset = "adult"'} spellcheck={false} /></label>
      <label class="field">Answered before version<input name="version" placeholder="any" /></label>
      <label class="field">δ<input name="delta" inputMode="decimal" placeholder="the server’s usual" /></label>
      <label class="field">Method<select name="method"><option value="BEST">best</option><option value="RDP">Rényi DP</option><option value="PLD">loss distribution</option><option value="CONTOUR">contour integral</option></select></label>
      <div class="field"><span>&nbsp;</span><button class="button primary" type="submit" disabled={busy}>Start</button></div></form></Card>;
}

export function Recompute({ operation }: { operation?: string }) {
  return operation ? <One id={operation} /> : <All />;
}
function All() {
  const operations = useCall("RecomputeService/ListOperations", OPERATIONS, generation.value);
  const missing = operations.error?.code === "unimplemented";
  const list = operations.data?.operations ?? [];
  return <><Title title="Recompute" about="What would today’s methods say of ledgers that were answered before?" />
    {operations.error && <Failed error={operations.error} what="recomputation" again={operations.again} />}
    {!missing && <Begin started={operations.again} />}
    {!operations.data && !operations.error && <Loading what="operations" />}
    {operations.data && list.length === 0 && <Empty title="Nothing was asked again yet">An operation goes on by itself, also when this page is closed.</Empty>}
    {list.length > 0 && <Section title="Operations, newest first"><div class="card flush"><table class="rows"><thead><tr><th scope="col">Operation</th><th scope="col">Asked for</th><th scope="col">Found</th><th scope="col">State</th></tr></thead><tbody>{list.map((one) => <tr key={one.name}>
      <td data-label="Operation" class="main"><A href={`/recompute/${encodeURIComponent(idOf(one))}`}><Name of={idOf(one)} /></A><small><Time of={one.createTime} />{one.creator && <> by <Name of={one.creator} /></>}</small></td>
      <td data-label="Asked for"><div>{askedWords(one.request)}</div></td><td data-label="Found"><div>{plural(one.lower ?? "0", "lower", "lower")}, {grouped(one.higher)} higher, {grouped(one.refused)} refused<small>{grouped(one.done)} of {grouped(one.total)}</small></div></td><td data-label="State"><State operation={one} /></td></tr>)}</tbody></table></div></Section>}
  </>;
}

function useResults(name: string, done: string | undefined) {
  const [results, setResults] = useState<Recomputed[]>([]);
  const [error, setError] = useState<CallError | undefined>();
  useEffect(() => {
    if (done === undefined) return;
    const control = new AbortController();
    (async () => {
      try {
        const all: Recomputed[] = [];
        for (let pageToken = ""; ;) {
          const answer = await call("RecomputeService/ListRecomputed", { name, pageSize: 1000, pageToken }, control.signal);
          all.push(...(answer.results ?? []));
          pageToken = answer.nextPageToken ?? "";
          if (!pageToken || all.length >= 20000) break;
        }
        setResults(all);
      } catch (failed) {
        if (!control.signal.aborted) setError(failed as CallError);
      }
    })();
    return () => control.abort();
  }, [name, done]);
  return { results, error };
}

const change = ({ before, now }: Recomputed) => (before?.epsilon && now?.epsilon ? upper(now.epsilon) / upper(before.epsilon) - 1 : 0);
function Dots({ row, greatest }: { row: Recomputed; greatest: number }) {
  const width = 200;
  const x = (value: number) => 6 + (width - 12) * Math.min(1, value / greatest);
  const [then, now] = [row.before?.epsilon, row.now?.epsilon].map((one) => (one ? x(upper(one)) : null));
  return <svg class="dots" width={width} height="16" aria-hidden="true"><line x1="6" x2={width - 6} y1="8" y2="8" />
    {then !== null && now !== null && <line class="between" x1={then} x2={now} y1="8" y2="8" />}
    {then !== null && <circle class="then" cx={then} cy="8" r="4" />}{now !== null && <circle class="now" cx={now} cy="8" r="4" />}</svg>;
}
const percent = (share: number) => (share === 0 ? "none" : `${share < 0 ? "−" : "+"}${Math.abs(share * 100) < 0.1 ? "< 0.1" : Math.abs(share * 100).toFixed(1)} %`);

function One({ id }: { id: string }) {
  const name = `operations/${id}`;
  const [tick, setTick] = useState(0);
  const found = useCall("RecomputeService/GetOperation", { name }, tick + generation.value);
  const operation = found.data;
  const running = operation?.state === "RUNNING";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setTick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [running]);
  const { results, error } = useResults(name, operation && `${operation.done} ${operation.state}`);
  const [failed, setFailed] = useState<CallError | undefined>();
  const cancel = () => call("RecomputeService/CancelOperation", { name }).then(() => setTick((n) => n + 1), setFailed);
  const [most, setMost] = useState(200);
  if (found.error && !operation) return <><Title trail={<A href="/recompute">Recompute</A>} title={`Operation ${visible(id)}`} /><Failed error={found.error} what="this operation" again={found.again} /></>;
  if (!operation) return <Loading what="the operation" />;
  const sorted = [...results].sort((a, b) => Number(!!a.now?.refusal) - Number(!!b.now?.refusal) || Math.abs(change(b)) - Math.abs(change(a)));
  const greatest = Math.max(...ticksOf(Math.max(0.1, ...results.flatMap((one) => [one.before?.epsilon, one.now?.epsilon]).filter((one) => one && Number.isFinite(upper(one))).map((one) => upper(one!))), 6));
  const delta = results.find((one) => one.now?.delta)?.now?.delta ?? operation.request?.delta ?? 0;
  const csv = () => csvOf([["ledger", "entries_then", "epsilon_lower_then", "epsilon_upper_then", "method_then", "version_then", "entries_now", "epsilon_lower_now", "epsilon_upper_now", "method_now", "version_now", "delta", "refusal"], ...sorted.map(({ before, now }) =>
    [now?.ledger ?? before?.ledger ?? "", before?.size ?? "", before?.epsilon ? double(before.epsilon.lower) : "", before?.epsilon ? double(before.epsilon.upper) : "", before?.method ?? "", before?.version ?? "", now?.size ?? "", now?.epsilon ? double(now.epsilon.lower) : "", now?.epsilon ? double(now.epsilon.upper) : "", now?.method ?? "", now?.version ?? "", now?.delta ?? "", now?.refusal?.reason ?? ""])]);
  const total = Math.max(1, count(operation.total));
  return <>
    <Title trail={<><A href="/recompute">Recompute</A> / operation <Name of={id} /></>} title={`What is said now of ${plural(operation.total ?? "0", "old answer")}`} about={<>Asked for: {askedWords(operation.request)}. Old answers stay on record.</>} chips={<State operation={operation} />}
      actions={<><button type="button" class="button" disabled={!results.length} onClick={() => download(`recompute-${id}.csv`, "text/csv", csv())}>CSV</button><A class="button" href="/recompute">New recompute</A></>} />
    {failed && <Failed error={failed} what="the cancellation" />}{error && <Failed error={error} what="the results" />}
    <Card flush><div class="tiles">
      <div><strong>{grouped(operation.lower)}</strong><span>cost less than was stated</span></div><div><strong>{grouped(operation.higher)}</strong><span>cost more than was stated</span></div>
      <div class={count(operation.refused) ? "bad" : ""}><strong>{grouped(operation.refused)}</strong><span>refused</span></div><div><strong>{grouped(count(operation.unchanged) + count(operation.fresh))}</strong><span>the same, or new</span></div></div>
      <div style="padding: 10px 20px 14px"><div class="progress" role="progressbar" aria-label="Ledgers asked" aria-valuemin={0} aria-valuemax={total} aria-valuenow={count(operation.done)}><span style={`width:${(100 * count(operation.done)) / total}%`} /></div>
        <div class="section-head"><span class="muted">{grouped(operation.done)} of {grouped(operation.total)}{operation.endTime && <> · ended <Time of={operation.endTime} /></>}{operation.resultsLedger && <> · kept in <A href={ledgerAddress(operation.resultsLedger)}><Name of={shortName(operation.resultsLedger)} /></A></>}</span>{running && <button type="button" class="link" onClick={cancel}>Cancel</button>}</div></div></Card>
    {sorted.length > 0 && <Section title="Difference, greatest first" side={<><span><svg class="dots" width="12" height="12" aria-hidden="true"><circle class="then" cx="6" cy="6" r="4" /></svg> said then</span><span><svg class="dots" width="12" height="12" aria-hidden="true"><circle class="now" cx="6" cy="6" r="4" /></svg> says now</span></>}>
      <div class="card flush"><table class="rows recomputed"><thead><tr><th scope="col">Ledger</th><th scope="col" class="num">Said then, ε at most</th><th scope="col" class="num">Says now, ε at most</th><th scope="col" class="num">Change</th><th scope="col">0 … {greatest}, at <Delta of={delta} /></th><th scope="col" class="num">Known to</th></tr></thead>
        <tbody>{sorted.slice(0, most).map((row) => {
          const ledger = row.now?.ledger ?? row.before?.ledger ?? "";
          if (row.now?.refusal) return <tr key={ledger}><td data-label="Ledger" class="main"><A href={ledgerAddress(ledger)}><Name of={shortName(ledger)} /></A></td><td colSpan={5} data-label="Says now"><div><span class="bad-text"><Icon shape="refused" size={14} /> Refused.</span> {said(row.now.refusal.message)}</div></td></tr>;
          return <tr key={ledger}><td data-label="Ledger" class="main"><A href={ledgerAddress(ledger)}><Name of={shortName(ledger)} /></A><small>{grouped(row.now?.size)} entries</small></td>
            <td data-label="Said then" class="num">{row.before?.epsilon ? <div><Number_ of={upper(row.before.epsilon)} round="up" /><small>{row.before.method}, {row.before.version}</small></div> : <span class="faint">nothing</span>}</td>
            <td data-label="Says now" class="num">{row.now?.epsilon && <div><strong><Number_ of={upper(row.now.epsilon)} round="up" /></strong><small>{row.now.method}, {row.now.version}</small></div>}</td>
            <td data-label="Change" class="num">{row.before?.epsilon ? percent(change(row)) : "new"}</td><td data-label="" class="dots-cell"><Dots row={row} greatest={greatest} /></td>
            <td data-label="Known to" class="num"><span>{row.now?.epsilon && (hasLower(row.now.epsilon) ? <KnownTo of={row.now.epsilon} /> : "upper end only")}</span></td></tr>;
        })}</tbody></table></div>
      {sorted.length > most && <p class="more"><button type="button" class="button" onClick={() => setMost(most + 500)}>Show more of {grouped(sorted.length)}</button></p>}
      <p class="footnote">A smaller number does not mean that less was released. The same entries were looked at more closely. Adjacency, unit and parameters are each ledger’s own.</p></Section>}
  </>;
}
