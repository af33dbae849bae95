// Names of ledgers, data sets and callers, found anywhere on the server.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { filterOf, useFound } from "../api/find";
export { valuesLike } from "../api/find";
import { Dialog } from "../parts/dialog";
import { A, Failed, Loading } from "../parts/parts";
import {
  callerAddress,
  datasetAddress,
  filterAddress,
  go,
  ledgerAddress,
  setQuery,
} from "../router";
import { quoted } from "../text/filter";
import { Name, shortName } from "../text/names";

interface GroupProps {
  title: string;
  of: string[];
  row: (name: string) => ComponentChildren;
}
const Group = ({ title, of: names, row }: GroupProps) =>
  names.length > 0 ? (
    <>
      <h3>{title}</h3>
      <ul class="found">
        {names.map((name) => (
          <li key={name}>{row(name)}</li>
        ))}
      </ul>
    </>
  ) : null;

export function Search() {
  const [text, setText] = useState("");
  const { of, found, error, busy } = useFound(text);
  const { ledgers, datasets, callers } = found;
  const all = filterAddress(filterOf(text.trim()));
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim()) go(all);
  };
  return (
    <Dialog title="Search" close={() => setQuery({ open: "" })}>
      <form role="search" onSubmit={submit}>
        <label class="field">
          A part of the name of a ledger, a data set or a caller
          <input
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
            autofocus
          />
        </label>
      </form>
      {error && <Failed error={error} what="what has this name" />}
      {busy && text.trim() && <Loading what={`“${text.trim()}”`} />}
      <div aria-live="polite">
        <Group
          title="Ledgers"
          of={ledgers}
          row={(name) => (
            <A href={ledgerAddress(name)}>
              <Name of={shortName(name)} />
            </A>
          )}
        />
        <Group
          title="Data sets"
          of={datasets}
          row={(name) => (
            <A href={datasetAddress(name)}>
              <Name of={name} />
            </A>
          )}
        />
        <Group
          title="Callers who made ledgers"
          of={callers}
          row={(name) => (
            <>
              <A href={filterAddress(`creator = ${quoted(name)}`)}>
                <Name of={name} />
              </A>{" "}
              · <A href={callerAddress(name)}>what they asked for</A>
            </>
          )}
        />
        {of && !busy && !error && (
          <p class="footnote">
            {!ledgers.length && !datasets.length && !callers.length && "Nothing has this name. "}
            {(ledgers.length > 0 || datasets.length > 0 || callers.length > 0) && (
              <>
                At most eight of each. <A href={all}>All of their ledgers as a list</A>.{" "}
              </>
            )}
            <A href={callerAddress(of)}>
              What a caller “<Name of={of} />” asked for
            </A>
          </p>
        )}
      </div>
    </Dialog>
  );
}
