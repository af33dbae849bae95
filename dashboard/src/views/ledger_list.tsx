// Ledgers in rows, a page at a time, with what each cost.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, CallError, everyPage, signedIn } from "../api/client";
import type { ListLedgersRequest, ListLedgersResponse } from "../api/types";
import { generation } from "../live";
import { A, Table, type Column } from "../parts/parts";
import { ledgerAddress, place, setQuery } from "../router";
import { Name, shortName } from "../text/names";
import { LEDGER_COLUMNS, shownColumns, type Row } from "./ledger_columns";

export const rowsOf = ({ ledgers = [], summaries = [] }: ListLedgersResponse): Row[] =>
  ledgers.map((ledger, i) => ({
    ledger,
    summary: summaries[i]?.ledger ? summaries[i] : undefined,
  }));
const without = (rows: Row[], known: Row[]) => {
  const names = new Set(known.map((row) => row.ledger.name));
  return rows.filter((row) => !names.has(row.ledger.name));
};

interface Listed {
  rows?: Row[];
  waiting: Row[]; // new ones, until the reader wants them
  next: string; // the token of the next page
  damaged: ListLedgersResponse["damaged"];
  error?: CallError;
}
// The first `wanted` pages, as rows in the order in which they first came; an update changes them
// in place, and new ones wait for the reader.
export function useLedgers(request: ListLedgersRequest, wanted = 1) {
  const [state, setState] = useState<Listed>({ waiting: [], next: "", damaged: [] });
  const [busy, setBusy] = useState(false);
  const key = JSON.stringify(request);
  const shown = useRef("");
  const pages = useRef(wanted);
  const failed = (error: unknown) => setState((old) => ({ ...old, error: error as CallError }));

  useEffect(() => {
    const control = new AbortController();
    const fresh = shown.current !== key;
    if (fresh) pages.current = wanted;
    (async () => {
      setBusy(true);
      try {
        const all: Row[] = [];
        let last: ListLedgersResponse = {};
        let left = pages.current;
        const take = (answer: ListLedgersResponse) => {
          all.push(...rowsOf(answer));
          last = answer;
          return --left > 0;
        };
        await everyPage("LedgerService/ListLedgers", request, take, control.signal);
        const { nextPageToken: next = "", damaged } = last;
        shown.current = key;
        setState(({ rows = [] }) => {
          if (fresh) return { rows: all, waiting: [], next, damaged };
          const byName = new Map(all.map((row) => [row.ledger.name, row]));
          const kept = rows.map((row) => byName.get(row.ledger.name) ?? row);
          return { rows: kept, waiting: without(all, kept), next, damaged };
        });
      } catch (error) {
        if (!control.signal.aborted) failed(error);
      }
      if (!control.signal.aborted) setBusy(false);
    })();
    return () => control.abort();
  }, [key, signedIn.value, generation.value]);

  // Resolves to how many pages are shown.
  const more = async () => {
    setBusy(true);
    try {
      const page = { ...request, pageToken: state.next };
      const answer = await call("LedgerService/ListLedgers", page);
      pages.current++;
      setState(({ rows = [], ...old }) => {
        const added = without(rowsOf(answer), rows);
        return { ...old, rows: [...rows, ...added], next: answer.nextPageToken ?? "" };
      });
    } catch (error) {
      failed(error);
    }
    setBusy(false);
    return pages.current;
  };
  const apply = () =>
    setState((old) => ({ ...old, rows: [...old.waiting, ...(old.rows ?? [])], waiting: [] }));
  return { ...state, busy, more, apply };
}

// A column's head that sorts by a field: one click by it, the next the other way. A list is by
// `usual` unless told.
export function sorted(label: string, field: string, usual = "name"): Column {
  const [now, way] = (place.value.query.get("order") || usual).split(" ");
  const is = now === field;
  const up = field === usual ? "" : field;
  const down = `${field} desc`;
  const turned = is ? (way === "desc" ? up : down) : up;
  const head = (
    <button type="button" class="sort" onClick={() => setQuery({ order: turned })}>
      {label}
      {is && (way === "desc" ? " ↓" : " ↑")}
    </button>
  );
  const sort = way === "desc" ? ("descending" as const) : ("ascending" as const);
  return { label, head, sort: is ? sort : undefined };
}

// Of rows that are all here, in the order that the address asks for; what has no value stands last,
// either way.
export type Orders<T> = Record<string, (row: T) => string | number | undefined>;
export function inOrder<T>(rows: T[], orders: Orders<T>, usual: string): T[] {
  const [name, way] = (place.value.query.get("order") ?? "").split(" ");
  const of = orders[name] ?? orders[usual];
  const sign = way === "desc" ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [of(a), of(b)];
    if (left === right) return 0;
    if (left === undefined || right === undefined) return left === undefined ? 1 : -1;
    return left < right ? -sign : sign;
  });
}

// What its column has room for: names of runs differ at their ends, which are not cut off.
const LONGEST_NAME = 28;
interface TableProps {
  rows: Row[];
  without?: string; // a column
  chosen?: Set<string>; // for comparison
  choose?: (name: string) => void;
}
// With the columns that the address asks for, each to be sorted by if the server can.
export function LedgerTable({ rows, without, chosen, choose }: TableProps) {
  const names = shownColumns().filter((name) => name !== without);
  const columns = names.map((name): Column => {
    const { label, head = label, field, width } = LEDGER_COLUMNS[name];
    return { ...(field ? sorted(head, field) : { head }), label, width };
  });
  const check = (name = "") => (
    <input
      type="checkbox"
      checked={chosen?.has(name)}
      onChange={() => choose?.(name)}
      aria-label={`Select ${shortName(name)} to compare`}
    />
  );
  const compare = { label: "Compare", head: <span class="hidden">Compare</span>, class: "check" };
  return (
    <Table
      class="lines"
      columns={[
        ...(chosen ? [compare] : []),
        { ...sorted("Ledger", "name"), class: "main", width: 212 },
        ...columns,
      ]}
      rows={rows.map((row) => ({
        key: row.ledger.name,
        cells: [
          ...(chosen ? [check(row.ledger.name)] : []),
          <A href={ledgerAddress(row.ledger.name)}>
            <Name of={shortName(row.ledger.name)} longest={LONGEST_NAME} />
          </A>,
          ...names.map((name) => LEDGER_COLUMNS[name].cell(row, names)),
        ],
      }))}
    />
  );
}
