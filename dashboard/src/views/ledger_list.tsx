// Ledgers in rows, a page at a time, with what each cost.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, CallError, signedIn } from "../api/client";
import type { Ledger, LedgerSummary, ListLedgersRequest, ListLedgersResponse } from "../api/types";
import { generation } from "../live";
import { roundsText, StateChips, SummaryCell } from "../parts/ledger_state";
import { A, Table } from "../parts/parts";
import { datasetAddress, ledgerAddress, place, setQuery } from "../router";
import { Name, shortName } from "../text/names";
import { entriesText } from "../text/numbers";
import { Time } from "../text/time";

export interface Row {
  ledger: Ledger;
  summary?: LedgerSummary;
}
const rowsOf = ({ ledgers = [], summaries = [] }: ListLedgersResponse): Row[] =>
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
// Rows in the order in which they first came; an update changes them in place, and new ones wait
// for the reader.
export function useLedgers(request: ListLedgersRequest) {
  const [state, setState] = useState<Listed>({ waiting: [], next: "", damaged: [] });
  const [busy, setBusy] = useState(false);
  const key = JSON.stringify(request);
  const shown = useRef("");
  const pages = useRef(1);
  const ask = (pageToken: string, signal?: AbortSignal) =>
    call("LedgerService/ListLedgers", { ...request, pageToken }, signal);
  const failed = (error: unknown) => setState((old) => ({ ...old, error: error as CallError }));

  useEffect(() => {
    const control = new AbortController();
    const fresh = shown.current !== key;
    if (fresh) pages.current = 1;
    (async () => {
      setBusy(true);
      try {
        const all: Row[] = [];
        let answer: ListLedgersResponse = {};
        for (let page = 0; page === 0 || (page < pages.current && answer.nextPageToken); page++) {
          answer = await ask(answer.nextPageToken ?? "", control.signal);
          all.push(...rowsOf(answer));
        }
        const { nextPageToken: next = "", damaged } = answer;
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

  const more = async () => {
    setBusy(true);
    try {
      const answer = await ask(state.next);
      pages.current++;
      setState(({ rows = [], ...old }) => {
        const added = without(rowsOf(answer), rows);
        return { ...old, rows: [...rows, ...added], next: answer.nextPageToken ?? "" };
      });
    } catch (error) {
      failed(error);
    }
    setBusy(false);
  };
  const apply = () =>
    setState((old) => ({ ...old, rows: [...old.waiting, ...(old.rows ?? [])], waiting: [] }));
  return { ...state, busy, more, apply };
}

// A column's head that sorts by a field: one click by it, the next the other way.
function sorted(label: string, field: string) {
  const [now, way] = (place.value.query.get("order") ?? "name").split(" ");
  const is = now === field;
  const up = field === "name" ? "" : field; // the list is by name unless told
  const down = `${field} desc`;
  const turned = is ? (way === "desc" ? up : down) : field === "name" ? up : down;
  const head = (
    <button type="button" class="sort" onClick={() => setQuery({ order: turned })}>
      {label}
      {is && (way === "desc" ? " ↓" : " ↑")}
    </button>
  );
  const sort = way === "desc" ? ("descending" as const) : ("ascending" as const);
  return { label, head, sort: is ? sort : undefined };
}

function Ledger_({ of: ledger, dataset }: { of: Ledger; dataset: boolean }) {
  const { declaration = {} } = ledger;
  return (
    <>
      <A href={ledgerAddress(ledger.name)}>
        <Name of={shortName(ledger.name)} />
      </A>
      <small>
        {dataset && (
          <>
            <A class="quiet" href={datasetAddress(declaration.dataset)}>
              <Name of={declaration.dataset} />
            </A>{" "}
            ·{" "}
          </>
        )}
        one record is one <Name of={declaration.unitOfPrivacy} />
        {ledger.fork && " · fork"}
        {ledger.import && " · copy"}
      </small>
    </>
  );
}
const cellsOf = ({ ledger, summary }: Row, dataset: boolean) => [
  <Ledger_ of={ledger} dataset={dataset} />,
  <SummaryCell summary={summary} ledger={ledger} />,
  <>
    {roundsText(ledger, summary)}
    <small>{entriesText(ledger.size)}</small>
  </>,
  <StateChips ledger={ledger} summary={summary} />,
  <span>
    {summary?.lastEntryTime ? (
      <Time of={summary.lastEntryTime} />
    ) : (
      <>
        made <Time of={ledger.createTime} />
      </>
    )}
  </span>,
];

// Of one data set.
export const LedgerTable = ({ rows }: { rows: Row[] }) => (
  <Table
    class="ledgers"
    columns={[
      { label: "Ledger", class: "main" },
      { label: "Cost", head: "Cost of what was recorded" },
      { label: "Rounds", class: "num" },
      "State",
      "Last entry",
    ]}
    rows={rows.map((row) => ({ key: row.ledger.name, cells: cellsOf(row, false) }))}
  />
);

// Of all data sets, to be sorted, and chosen for comparison.
export function ChosenLedgers({
  rows,
  chosen,
  choose,
}: {
  rows: Row[];
  chosen: Set<string>;
  choose: (name: string) => void;
}) {
  const check = (name: string) => (
    <input
      type="checkbox"
      checked={chosen.has(name)}
      onChange={() => choose(name)}
      aria-label={`Select ${shortName(name)} to compare`}
    />
  );
  return (
    <Table
      class="ledgers"
      columns={[
        { label: "Compare", head: <span class="hidden">Compare</span>, class: "check" },
        { ...sorted("Ledger", "name"), class: "main" },
        { ...sorted("Cost of what was recorded", "epsilon"), label: "Cost" },
        { label: "Rounds", class: "num" },
        "State",
        sorted("Last entry", "last_entry_time"),
      ]}
      rows={rows.map((row) => ({
        key: row.ledger.name,
        cells: [check(row.ledger.name ?? ""), ...cellsOf(row, true)],
      }))}
    />
  );
}
