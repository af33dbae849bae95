// The entries as they are stored: a list of any length, one of them opened by its number or its hash.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import { decodeEntry, fromBase64, hex, type Decoded } from "../api/decode";
import { LongList } from "../parts/long_list";
import { A, Card, Facts, Failed, Hash, Section } from "../parts/parts";
import { go, ledgerAddress, place } from "../router";
import { Name } from "../text/names";
import { bytesText, grouped } from "../text/numbers";
import { Time } from "../text/time";
import { leaf } from "../verify/tree";
import { entryWords } from "./entries";

const PAGE = 200;
const ROW = 44;

// Pages of entries, read when they come into view; the oldest are forgotten.
function usePages(ledger: string, size: number) {
  const pages = useRef(new Map<number, Uint8Array[] | null>());
  const [, redraw] = useState(0);
  useEffect(() => {
    pages.current.clear();
    redraw((n) => n + 1);
  }, [ledger]);
  const load = async (page: number) => {
    const old = pages.current.get(page);
    // The last page may have grown.
    if (old === null || (old && (old.length === PAGE || page * PAGE + old.length >= size))) return;
    pages.current.set(page, null);
    try {
      const answer = await call("LedgerService/ReadEntries", { ledger, firstSequence: String(page * PAGE), pageSize: PAGE });
      pages.current.set(page, (answer.entries ?? []).map(fromBase64));
    } catch {
      pages.current.delete(page);
    }
    if (pages.current.size > 40) pages.current.delete(pages.current.keys().next().value!);
    redraw((n) => n + 1);
  };
  return {
    need: (first: number, last: number) => {
      for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) void load(page);
    },
    entry: (index: number): Decoded | Error | undefined => {
      const bytes = pages.current.get(Math.floor(index / PAGE))?.[index % PAGE];
      if (!bytes) return undefined;
      try {
        return decodeEntry(bytes);
      } catch (error) {
        return error as Error;
      }
    },
  };
}

function Opened({ ledger, entry, size }: { ledger: string; entry: string; size: number }) {
  const [state, setState] = useState<{ bytes?: Uint8Array; sequence?: number; error?: CallError; looked?: number }>({});
  useEffect(() => {
    const control = new AbortController();
    (async () => {
      setState({});
      try {
        if (!entry.startsWith("sha256:")) {
          const answer = await call("LedgerService/ReadEntries", { ledger, firstSequence: entry, pageSize: 1 }, control.signal);
          if (!answer.entries?.length) throw new CallError("not_found", `the ledger has ${grouped(size)} entries, numbered from 0`);
          return setState({ bytes: fromBase64(answer.entries[0]), sequence: Number(entry) });
        }
        const wanted = entry.slice(7);
        for (let next = 0; next < size;) {
          const answer = await call("LedgerService/ReadEntries", { ledger, firstSequence: String(next), pageSize: 5000 }, control.signal);
          for (const text of answer.entries ?? []) {
            const bytes = fromBase64(text);
            if (hex(leaf(bytes)) === wanted) return setState({ bytes, sequence: next });
            next++;
          }
          if (!answer.entries?.length) break;
          setState({ looked: next });
        }
        throw new CallError("not_found", "no entry of this ledger has this hash");
      } catch (error) {
        if (!control.signal.aborted) setState({ error: error as CallError });
      }
    })();
    return () => control.abort();
  }, [ledger, entry]);
  const close = <A href={ledgerAddress(ledger)}>Close</A>;
  if (state.error) return <Failed error={state.error} what={`entry ${entry}`} />;
  if (!state.bytes) return <p class="loading" role="status">{state.looked ? `Looked at ${grouped(state.looked)} of ${grouped(size)} entries` : "Reading the entry"}</p>;
  let decoded: Decoded | undefined;
  try {
    decoded = decodeEntry(state.bytes);
  } catch { /* its bytes are shown */ }
  const hash = hex(leaf(state.bytes));
  const address = `${ledgerAddress(ledger)}/entry/`;
  return <Card title={`Entry ${grouped(state.sequence)}`} side={close} class="opened-entry">
    <Facts rows={[
      ...(decoded ? [["What", <>{entryWords(decoded).kind}: {entryWords(decoded).what}</>] as [string, preact.ComponentChildren]] : []),
      ["Leaf hash", <Hash of={hash} />],
      ["Size", bytesText(state.bytes.length)],
      ["Links", <><A href={address + state.sequence}>by number</A> · <A href={`${address}sha256:${hash}`}>by hash</A></>],
      ...(decoded?.caller ? [["Brought by", <Name of={decoded.caller} whole />] as [string, preact.ComponentChildren]] : []),
    ]} />
    <pre tabIndex={0}>{decoded ? JSON.stringify(decoded, null, 2) : hex(state.bytes)}</pre>
  </Card>;
}

export function EntryList({ ledger, size, entry }: { ledger: string; size: number; entry?: string }) {
  const pages = usePages(ledger, size);
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const find = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim().toLowerCase().replace(/[,\s]/g, "");
    if (/^\d{1,18}$/.test(wanted)) go(`${ledgerAddress(ledger)}/entry/${wanted}${location.search}`);
    else if (/^(sha256:)?[0-9a-f]{64}$/.test(wanted)) go(`${ledgerAddress(ledger)}/entry/sha256:${wanted.replace("sha256:", "")}${location.search}`);
    else return setWrong("A number, or the 64 digits of a leaf's hash");
    setWrong("");
  };
  const at = entry && /^\d+$/.test(entry) ? Number(entry) : undefined;
  const head = <><span role="columnheader">Number</span><span role="columnheader">Kind</span><span role="columnheader">What</span><span role="columnheader">Writer</span><span role="columnheader">Recorded</span></>;
  return <Section title="Entries" side={<form class="goto" onSubmit={find}><label class="hidden" for="goto">Number or hash</label>
    <input id="goto" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="number or hash" spellcheck={false} aria-describedby="goto-wrong" /><button type="submit" class="link">Go to</button></form>}>
    {wrong && <p id="goto-wrong" class="warn-text" role="alert">{wrong}</p>}
    {entry && <Opened ledger={ledger} entry={entry} size={size} />}
    <div class="card flush"><LongList count={size} rowHeight={ROW} height={ROW * 9} label="Entries" head={head} need={pages.need} start={at}
      row={(index) => {
        const found = pages.entry(index);
        const words = found && !(found instanceof Error) ? entryWords(found) : undefined;
        return <><span role="cell" class="num"><A href={`${ledgerAddress(ledger)}/entry/${index}${place.value.query.size ? `?${place.value.query}` : ""}`}>{grouped(index)}</A></span>
          <span role="cell">{found instanceof Error ? "unreadable" : words?.kind}</span>
          <span role="cell" class="what" title={words?.what}>{found instanceof Error ? found.message : words?.what ?? ""}</span>
          <span role="cell">{words && ((found as Decoded).writer ? <Name of={(found as Decoded).writer} /> : "server")}</span>
          <span role="cell">{words && <Time of={(found as Decoded).recordedTime} clock />}</span></>;
      }} /></div>
  </Section>;
}
