// Find a run: every ledger, by a filter that the server reads (docs/filters.md), a page at a time.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, CallError, jsonAddress, signedIn } from "../api/client";
import type { DamagedLedger, Ledger, LedgerSummary, ListLedgersRequest } from "../api/types";
import { generation } from "../live";
import { Chip } from "../parts/icon";
import { StateChips, SummaryCell, roundsText, summaryTerms } from "../parts/ledger_state";
import { TierNote } from "../parts/epsilon";
import { A, csvOf, download, Empty, Failed, Loading, Notice, Title } from "../parts/parts";
import { datasetAddress, ledgerAddress, place, setQuery } from "../router";
import { Name, shortName, visible } from "../text/names";
import { count, grouped, plural } from "../text/numbers";
import { Time } from "../text/time";

const PAGE = 200;
const MOST_DAMAGED = 5;
export interface Row { ledger: Ledger; summary?: LedgerSummary }
const rowsOf = (answer: { ledgers?: Ledger[]; summaries?: LedgerSummary[] }): Row[] =>
  (answer.ledgers ?? []).map((ledger, i) => {
    const summary = answer.summaries?.[i];
    return { ledger, summary: summary?.ledger ? summary : undefined };
  });

export function ledgersRequest(): ListLedgersRequest {
  const { query } = place.value;
  const request: ListLedgersRequest = { parent: "projects/-", pageSize: PAGE };
  if (query.get("filter")) request.filter = query.get("filter")!;
  if (query.get("order")) request.orderBy = query.get("order")!;
  return request;
}
export const ledgersJson = () => jsonAddress("LedgerService/ListLedgers", ledgersRequest());

// Rows in the order in which they first came; an update changes them in place, and new ones wait for the reader.
export function useLedgers(request: ListLedgersRequest) {
  const [rows, setRows] = useState<Row[] | undefined>();
  const [waiting, setWaiting] = useState<Row[]>([]);
  const [next, setNext] = useState("");
  const [damaged, setDamaged] = useState<DamagedLedger[]>([]);
  const [error, setError] = useState<CallError | undefined>();
  const [busy, setBusy] = useState(false);
  const key = JSON.stringify(request);
  const shown = useRef("");
  const pages = useRef(1);
  const session = signedIn.value;
  const version = generation.value;

  useEffect(() => {
    const control = new AbortController();
    const fresh = shown.current !== key;
    if (fresh) pages.current = 1;
    (async () => {
      setBusy(true);
      try {
        let token = "";
        const all: Row[] = [];
        let broken: DamagedLedger[] = [];
        for (let page = 0; page < pages.current; page++) {
          const answer = await call("LedgerService/ListLedgers", { ...request, pageToken: token }, control.signal);
          all.push(...rowsOf(answer));
          broken = answer.damaged ?? [];
          token = answer.nextPageToken ?? "";
          if (!token) break;
        }
        setError(undefined);
        setNext(token);
        setDamaged(broken);
        if (fresh) {
          shown.current = key;
          setRows(all);
          setWaiting([]);
          return;
        }
        const byName = new Map(all.map((row) => [row.ledger.name, row]));
        setRows((old) => {
          const kept = (old ?? []).map((row) => byName.get(row.ledger.name) ?? row);
          const known = new Set(kept.map((row) => row.ledger.name));
          setWaiting(all.filter((row) => !known.has(row.ledger.name)));
          return kept;
        });
      } catch (failed) {
        if (!control.signal.aborted) setError(failed as CallError);
      } finally {
        if (!control.signal.aborted) setBusy(false);
      }
    })();
    return () => control.abort();
  }, [key, session, version]);

  const more = async () => {
    setBusy(true);
    try {
      const answer = await call("LedgerService/ListLedgers", { ...request, pageToken: next });
      pages.current++;
      setRows((old) => {
        const known = new Set((old ?? []).map((row) => row.ledger.name));
        return [...(old ?? []), ...rowsOf(answer).filter((row) => !known.has(row.ledger.name))];
      });
      setNext(answer.nextPageToken ?? "");
    } catch (failed) {
      setError(failed as CallError);
    }
    setBusy(false);
  };
  const apply = () => {
    setRows((old) => [...waiting, ...(old ?? [])]);
    setWaiting([]);
  };
  return { rows, waiting, apply, next, more, damaged, error, busy };
}

const COLUMNS: [label: string, order?: string][] = [["Ledger", "name"], ["Cost of what was recorded", "epsilon"], ["Rounds"], ["State"], ["Last entry", "last_entry_time"]];

function Head({ label, order }: { label: string; order?: string }) {
  const now = place.value.query.get("order") ?? "name";
  const [field, way] = now.split(" ");
  if (!order) return <th scope="col">{label}</th>;
  const sorted = field === order;
  const turn = () => setQuery({ order: sorted ? (way === "desc" ? (order === "name" ? "" : order) : `${order} desc`) : order === "name" ? "" : `${order} desc` });
  return <th scope="col" aria-sort={sorted ? (way === "desc" ? "descending" : "ascending") : undefined}>
    <button type="button" class="sort" onClick={turn}>{label}{sorted ? (way === "desc" ? " ↓" : " ↑") : ""}</button></th>;
}

export function LedgerRows({ rows, dataset = true, chosen, choose }:
  { rows: Row[]; dataset?: boolean; chosen?: Set<string>; choose?: (name: string) => void }) {
  return <>{rows.map(({ ledger, summary }) => {
    const name = ledger.name ?? "";
    return <tr key={name} data-name={name}>
      {choose && <td class="check"><input type="checkbox" checked={chosen!.has(name)} onChange={() => choose(name)} aria-label={`Select ${shortName(name)} to compare`} /></td>}
      <td data-label="Ledger" class="main"><A href={ledgerAddress(name)}><Name of={shortName(name)} /></A>
        <small>{dataset && <><A class="quiet" href={datasetAddress(ledger.declaration?.dataset ?? "")}><Name of={ledger.declaration?.dataset} /></A> · </>}
          one record is one <Name of={ledger.declaration?.unitOfPrivacy} />{ledger.fork && " · fork"}{ledger.import && " · copy"}</small></td>
      <td data-label="Cost"><SummaryCell summary={summary} ledger={ledger} /></td>
      <td data-label="Rounds" class="num">{roundsText(ledger, summary)}<small>{plural(count(ledger.size), "entry", "entries")}</small></td>
      <td data-label="State"><StateChips ledger={ledger} summary={summary} /></td>
      <td data-label="Last entry"><span>{summary?.lastEntryTime ? <Time of={summary.lastEntryTime} /> : <>made <Time of={ledger.createTime} /></>}</span></td>
    </tr>;
  })}</>;
}

export function ledgersCsv(rows: Row[]) {
  return csvOf([["ledger", "dataset", "unit_of_privacy", "adjacency", "parameters", "epsilon_lower", "epsilon_upper", "delta", "method", "version", "refusal", "entries", "state"],
    ...rows.map(({ ledger, summary }) => {
      const terms = summary ? summaryTerms(summary, ledger) : undefined;
      return [ledger.name ?? "", ledger.declaration?.dataset ?? "", ledger.declaration?.unitOfPrivacy ?? "", ledger.declaration?.adjacency ?? "", ledger.declaration?.parameters ?? "",
        summary?.epsilon ? String(summary.epsilon.lower ?? 0) : "", summary?.epsilon ? String(summary.epsilon.upper ?? 0) : "", terms ? String(terms.delta) : "",
        summary?.method ?? "", summary?.version ?? "", summary?.refusal?.reason ?? "", ledger.size ?? "0", ledger.state ?? ""];
    })]);
}

export function Ledgers() {
  const { query } = place.value;
  const request = ledgersRequest();
  const { rows, waiting, apply, next, more, damaged, error, busy } = useLedgers(request);
  const [text, setText] = useState(query.get("filter") ?? "");
  const [chosen, setChosen] = useState(new Set<string>());
  useEffect(() => setText(query.get("filter") ?? ""), [query.get("filter")]);
  const choose = (name: string) => setChosen((old) => {
    const copy = new Set(old);
    if (!copy.delete(name) && copy.size < 10) copy.add(name);
    return copy;
  });
  const compare = () => setQuery({ open: `compare:${[...chosen].map(shortName).join(",")}` }, "push");
  const summaries = rows?.some((row) => row.summary) ?? true;
  return <>
    <Title title="Ledgers" about="Every run that is recorded on this server, and what it cost so far."
      actions={<><button type="button" class="button" disabled={chosen.size < 2} onClick={compare}>Compare{chosen.size > 1 ? ` ${chosen.size}` : ""}</button>
        <button type="button" class="button" onClick={() => setQuery({ open: "plan" }, "push")}>Plan a run</button>
        <button type="button" class="button" disabled={!rows?.length} onClick={() => download("ledgers.csv", "text/csv", ledgersCsv(rows ?? []))}>CSV</button></>} />
    <form class="filter" role="search" onSubmit={(event) => { event.preventDefault(); setQuery({ filter: text.trim() }); }}>
      <label class="hidden" for="filter">Filter</label>
      <input id="filter" type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder={'dataset = "adult" AND epsilon > 1'} spellcheck={false} autocomplete="off" maxLength={4096} />
      <button class="button" type="submit">Filter</button>
    </form>
    {error && <Failed error={error} what={request.filter ? "the ledgers of this filter" : "the list of ledgers"} />}
    {damaged.length > 0 && <div role="alert"><Notice shape="refused" tone="bad" title={`${plural(damaged.length, "ledger")} cannot be read`}>
      {damaged.slice(0, MOST_DAMAGED).map(({ name, message }) => <p key={name}>{visible(message ?? name ?? "")}</p>)}
      <p>{damaged.length > MOST_DAMAGED && "And others. "}They are listed as they were before, if at all, and no total that they may belong to is answered.</p></Notice></div>}
    {!rows && !error && <Loading what="the list of ledgers" />}
    {rows && !summaries && rows.length > 0 && <p class="footnote"><Chip shape="unknown" tone="plain">costs not known yet</Chip> This server has no summaries to list: open a ledger to ask what it cost.</p>}
    {rows && rows.length === 0 && !error && <Empty title={request.filter ? "No ledger fits this filter" : "No ledger yet"}>
      {request.filter ? <button type="button" class="link" onClick={() => setQuery({ filter: "" })}>Show all</button>
        : <>A trainer that records its rounds makes one: <code>dp_sgd --server {location.host} --ledger first --target-epsilon 1</code></>}</Empty>}
    {rows && rows.length > 0 && <>
      <div class="section-head"><h2 class="count">{grouped(rows.length)}{next ? " of more" : ""} {rows.length === 1 ? "ledger" : "ledgers"}</h2>
        <div class="side">{waiting.length > 0 && <button type="button" class="chip info" onClick={apply}>{waiting.length} new: show</button>}</div></div>
      <div class="card flush"><table class="rows ledgers"><thead><tr><th scope="col" class="check"><span class="hidden">Compare</span></th>{COLUMNS.map(([label, order]) => <Head key={label} label={label} order={order} />)}</tr></thead>
        <tbody><LedgerRows rows={rows} chosen={chosen} choose={choose} /></tbody></table></div>
      {next && <p class="more"><button type="button" class="button" disabled={busy} onClick={more}>Show {PAGE} more</button></p>}
      <TierNote />
    </>}
  </>;
}
