// Find a run: every ledger, by a filter that the server reads (docs/filters.md), a page at a time.
import { useEffect, useState } from "preact/hooks";
import { jsonAddress } from "../api/client";
import type { DamagedLedger, ListLedgersRequest } from "../api/types";
import { downloadCsv } from "../parts/download";
import { TierNote } from "../parts/epsilon";
import { Button, Empty, Failed, Loading, Notice, Title } from "../parts/parts";
import { serverName } from "../prefix";
import { place, setQuery } from "../router";
import { shortName, visible } from "../text/names";
import { grouped, plural } from "../text/numbers";
import { ChosenLedgers, useLedgers, type Row } from "./ledger_list";

const PAGE = 200;
const MOST_DAMAGED = 5;
const MOST_COMPARED = 10;

function ledgersRequest(): ListLedgersRequest {
  const { query } = place.value;
  return {
    parent: "projects/-",
    pageSize: PAGE,
    filter: query.get("filter") || undefined,
    orderBy: query.get("order") || undefined,
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

function Filter() {
  const now = place.value.query.get("filter") ?? "";
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  const submit = (event: Event) => {
    event.preventDefault();
    setQuery({ filter: text.trim() });
  };
  return (
    <form class="filter" role="search" onSubmit={submit}>
      <label class="hidden" for="filter">
        Filter
      </label>
      <input
        id="filter"
        type="search"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        placeholder={'dataset = "adult" AND epsilon > 1'}
        spellcheck={false}
        autocomplete="off"
        maxLength={4096}
      />
      <Button type="submit">Filter</Button>
    </form>
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
      <Button class="link" onClick={() => setQuery({ filter: "" })}>
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
  const { rows, waiting, apply, next, more, damaged, error, busy } = useLedgers(request);
  const [chosen, setChosen] = useState(new Set<string>());
  const choose = (name: string) =>
    setChosen((old) => {
      const copy = new Set(old);
      if (!copy.delete(name) && copy.size < MOST_COMPARED) copy.add(name);
      return copy;
    });
  const compare = () =>
    setQuery({ open: `compare:${[...chosen].map(shortName).join(",")}` }, "push");
  const count = `${grouped(rows?.length)}${next ? " of more" : ""}`;
  return (
    <>
      <Title
        title="Ledgers"
        about="Every run that is recorded on this server, and what it cost so far."
        actions={
          <>
            <Button disabled={chosen.size < 2} onClick={compare}>
              {chosen.size > 1 ? `Compare ${chosen.size}` : "Compare"}
            </Button>
            <Button onClick={() => setQuery({ open: "plan" }, "push")}>Plan a run</Button>
            <Button
              disabled={!rows?.length}
              onClick={() => downloadCsv("ledgers", (rows ?? []).map(csvRow))}
            >
              CSV
            </Button>
          </>
        }
      />
      <Filter />
      {error && (
        <Failed
          error={error}
          what={request.filter ? "the ledgers of this filter" : "the list of ledgers"}
        />
      )}
      {damaged && damaged.length > 0 && <Damaged of={damaged} />}
      {!rows && !error && <Loading what="the list of ledgers" />}
      {rows?.length === 0 && !error && <None filtered={!!request.filter} />}
      {rows && rows.length > 0 && (
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
          <ChosenLedgers rows={rows} chosen={chosen} choose={choose} />
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
    </>
  );
}
