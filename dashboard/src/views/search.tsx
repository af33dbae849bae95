// Names of ledgers, data sets, projects and callers, and roots of ledgers, found anywhere on the
// server.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { filterOf, hashIn, useFound } from "../api/find";
export { valuesLike } from "../api/find";
import { Dialog } from "../parts/dialog";
import { A, Failed, Loading } from "../parts/parts";
import {
  callerAddress,
  datasetAddress,
  entryAddress,
  filterAddress,
  go,
  ledgerAddress,
  place,
  projectAddress,
  setQuery,
  thingOf,
} from "../router";
import { quoted } from "../text/filter";
import { ledgerName, Name, shortName } from "../text/names";

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

const LedgerLink = (name: string) => (
  <A href={ledgerAddress(name)}>
    <Name of={shortName(name)} />
  </A>
);

// Where the hash of an entry is looked for, which this search knows nothing of.
function AmongEntries({ hash }: { hash: string }) {
  const thing = thingOf(place.value);
  const name = thing.view === "ledger" && ledgerName(thing.project, thing.id);
  return (
    <p class="footnote">
      Of hashes, the search knows the roots of ledgers as they are now. The hash of an entry is
      looked for in its ledger, by the field above the entries.{" "}
      {name && hash.length === 64 && (
        <A href={entryAddress(name, `sha256:${hash}`)}>
          Look for it among the entries of <Name of={shortName(name)} />
        </A>
      )}
    </p>
  );
}

export function Search() {
  const [text, setText] = useState("");
  const { of, found, error, busy } = useFound(text);
  const { ledgers, roots, datasets, projects, callers } = found;
  const named = ledgers.length + datasets.length + projects.length + callers.length > 0;
  const hash = hashIn(of);
  const all = filterAddress(filterOf(text.trim()));
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim()) go(all);
  };
  return (
    <Dialog title="Search" close={() => setQuery({ open: "" })}>
      <form role="search" onSubmit={submit}>
        <label class="field">
          A part of the name of a ledger, a data set, a project or a caller; or a ledger’s root
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
        <Group title="Ledgers whose root this is" of={roots} row={LedgerLink} />
        <Group title="Ledgers" of={ledgers} row={LedgerLink} />
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
          title="Projects"
          of={projects}
          row={(name) => (
            <A href={projectAddress(name)}>
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
        {hash && !busy && !error && !roots.length && <AmongEntries hash={hash} />}
        {of && !busy && !error && (
          <p class="footnote">
            {!named && !roots.length && "Nothing has this name. "}
            Of callers, those who made ledgers are searched.{" "}
            {named && (
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
