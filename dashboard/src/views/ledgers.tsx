// Find a run: every ledger, by a filter that the server reads (docs/filters.md), a page at a time.
import { useEffect, useState } from "preact/hooks";
import { CallError, everyPage, jsonAddress } from "../api/client";
import type { DamagedLedger, ListLedgersRequest } from "../api/types";
import { downloadCsv } from "../parts/download";
import { TierNote } from "../parts/epsilon";
import { FilterField, FilterHelp } from "../parts/filter_field";
import { A, Button, Empty, Failed, Loading, Notice, Title } from "../parts/parts";
import { SavedViews } from "../parts/saved_views";
import { serverName } from "../prefix";
import { place, setQuery } from "../router";
import { apart, faultOf, projectIn, type Fault } from "../text/filter";
import { Name, shortName, visible } from "../text/names";
import { grouped, plural } from "../text/numbers";
import { ColumnMenu, type Row } from "./ledger_columns";
import { LedgerTable, rowsOf, useLedgers } from "./ledger_list";

const PAGE = 200;
const MOST_DAMAGED = 5;
const MOST_COMPARED = 10;

const asked = () => place.value.query.get("filter") ?? "";
const ofServer = () => place.value.query.get("own") === "1";
function ledgersRequest(): ListLedgersRequest {
  return {
    parent: "projects/-",
    pageSize: PAGE,
    filter: apart(asked(), ofServer()).filter,
    orderBy: place.value.query.get("order") || undefined,
  };
}
export const ledgersJson = () => jsonAddress("LedgerService/ListLedgers", ledgersRequest());

const csvRow = ({ ledger: { name, declaration, size = "0", state }, summary }: Row) => ({
  ledger: name,
  dataset: declaration?.dataset,
  unit_of_privacy: declaration?.unitOfPrivacy,
  adjacency: declaration?.adjacency,
  parameters: declaration?.parameters,
  epsilon_lower: summary?.epsilon && (summary.epsilon.lower ?? 0),
  epsilon_upper: summary?.epsilon && (summary.epsilon.upper ?? 0),
  delta: summary && (summary.delta ?? 0),
  method: summary?.method,
  version: summary?.version,
  refusal: summary?.refusal?.reason,
  entries: size,
  state,
});

function Filter({ fault }: { fault: Fault | undefined }) {
  const now = asked();
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  const submit = (event: Event) => {
    event.preventDefault();
    setQuery({ filter: text.trim(), rows: "" });
  };
  // Values of a field, of all ledgers, as they were last looked up.
  const [values, setValues] = useState<Record<string, string[]>>({});
  const lookUp = (field: string, typed: string) =>
    import("./search")
      .then(({ valuesLike }) => valuesLike(field, typed))
      .then((found) => found && setValues({ [field]: found }))
      .catch(() => undefined); // nothing is offered
  return (
    <form class="filter" role="search" onSubmit={submit}>
      <label class="hidden" for="filter">
        Filter
      </label>
      <FilterField
        value={text}
        change={setText}
        known={(field) => values[field] ?? []}
        lookUp={lookUp}
        fault={text === now ? fault : undefined}
      />
      <Button type="submit">Filter</Button>
      <FilterHelp take={(filter) => setQuery({ filter, rows: "" })} />
    </form>
  );
}

// Every ledger of the request, a thousand at a time.
function Csv({ request }: { request: ListLedgersRequest }) {
  const [got, setGot] = useState<number | undefined>();
  const [error, setError] = useState<CallError | undefined>();
  const write = async () => {
    const rows: Row[] = [];
    setError(undefined);
    try {
      await everyPage("LedgerService/ListLedgers", { ...request, pageSize: 1000 }, (answer) => {
        rows.push(...rowsOf(answer));
        setGot(rows.length);
      });
      downloadCsv("ledgers", rows.map(csvRow));
    } catch (failed) {
      setError(failed as CallError);
    }
    setGot(undefined);
  };
  return (
    <>
      <Button disabled={got !== undefined} onClick={write} title="All ledgers of this list">
        {got === undefined ? "CSV" : `CSV: ${grouped(got)} read`}
      </Button>
      {error && <Failed error={error} what="all ledgers for the file" again={write} />}
    </>
  );
}

const Damaged = ({ of: damaged }: { of: DamagedLedger[] }) => (
  <div role="alert">
    <Notice shape="refused" tone="bad" title={`${plural(damaged.length, "ledger")} cannot be read`}>
      {damaged.slice(0, MOST_DAMAGED).map(({ name, message }) => (
        <p key={name}>{visible(message ?? name)}</p>
      ))}
      <p>
        {damaged.length > MOST_DAMAGED && "And others. "}They are listed as they were before, if at
        all, and no total that they may belong to is answered.
      </p>
    </Notice>
  </div>
);

const None = ({ filtered }: { filtered: boolean }) => (
  <Empty title={filtered ? "No ledger fits this filter" : "No ledger yet"}>
    {filtered ? (
      <Button class="link" onClick={() => setQuery({ filter: "", rows: "" })}>
        Show all
      </Button>
    ) : (
      <>
        A trainer that records its rounds makes one:{" "}
        <code>dp_sgd --server {serverName()} --ledger first --target-epsilon 1</code>
      </>
    )}
  </Empty>
);

export function Ledgers() {
  const request = ledgersRequest();
  const wanted = Math.ceil((Number(place.value.query.get("rows")) || PAGE) / PAGE);
  const listed = useLedgers(request, wanted);
  const { rows, waiting, apply, next, damaged, error, busy } = listed;
  const own = ofServer();
  const project = projectIn(asked());
  const fault = error && faultOf(asked(), error.message, apart(asked(), own).skipped);
  const [chosen, setChosen] = useState(new Set<string>());
  const choose = (name: string) =>
    setChosen((old) => {
      const copy = new Set(old);
      if (!copy.delete(name) && copy.size < MOST_COMPARED) copy.add(name);
      return copy;
    });
  const compare = () =>
    setQuery({ open: `compare:${[...chosen].map(shortName).join(",")}` }, "push");
  const more = async () => setQuery({ rows: String(PAGE * (await listed.more())) });
  const count = `${grouped(rows?.length)}${next ? " of more" : ""}`;
  return (
    <div class="wide">
      <Title
        title={
          own ? (
            "The server’s own ledgers"
          ) : project ? (
            <>
              Project <Name of={project} />
            </>
          ) : (
            "Ledgers"
          )
        }
        about={
          own
            ? "Who asked this server for what, and what was recomputed. They are no runs."
            : `Every run recorded ${project ? "in it" : "on this server"}, and what it cost so far.`
        }
        actions={
          <>
            <Button disabled={chosen.size < 2} onClick={compare}>
              {chosen.size > 1 ? `Compare ${chosen.size}` : "Compare"}
            </Button>
            <Button onClick={() => setQuery({ open: "plan" }, "push")}>Plan a run</Button>
            <ColumnMenu />
            <SavedViews />
            <Csv request={request} />
          </>
        }
      />
      <Filter fault={fault} />
      {error && !fault && (
        <Failed
          error={error}
          what={asked() ? "the ledgers of this filter" : "the list of ledgers"}
        />
      )}
      {damaged && damaged.length > 0 && <Damaged of={damaged} />}
      {!rows && !error && <Loading what="the list of ledgers" />}
      {rows?.length === 0 && !error && <None filtered={!!asked() || own} />}
      {rows && rows.length > 0 && !fault && (
        <>
          <div class="section-head">
            <h2 class="count">
              {count} {rows.length === 1 ? "ledger" : "ledgers"}
            </h2>
            <div class="side">
              {waiting.length > 0 && (
                <Button class="chip info" onClick={apply}>
                  {waiting.length} new: show
                </Button>
              )}
            </div>
          </div>
          <LedgerTable rows={rows} chosen={chosen} choose={choose} />
          {next && (
            <p class="more">
              <Button disabled={busy} onClick={more}>
                Show {PAGE} more
              </Button>
            </p>
          )}
          <TierNote />
        </>
      )}
      <p class="footnote">
        {own ? (
          <A href="/ledgers">The ledgers of runs</A>
        ) : (
          <A href="/ledgers?own=1">The server’s own ledgers</A>
        )}
      </p>
    </div>
  );
}
