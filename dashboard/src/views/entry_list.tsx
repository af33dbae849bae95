// The entries as they are stored: a list of any length, one of them opened by its number or its
// hash.
import { useEffect, useRef, useState } from "preact/hooks";
import { fromBase64, hex } from "../api/bytes";
import { call, CallError } from "../api/client";
import { decodeEntry, type Decoded } from "../api/decode";
import { LongList } from "../parts/long_list";
import { A, Button, Card, Facts, Failed, Hash, Section } from "../parts/parts";
import { entryAddress, go, ledgerAddress } from "../router";
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
    if (old === null) return;
    if (old && (old.length === PAGE || page * PAGE + old.length >= size)) return;
    pages.current.set(page, null);
    try {
      const request = { ledger, firstSequence: String(page * PAGE), pageSize: PAGE };
      const answer = await call("LedgerService/ReadEntries", request);
      pages.current.set(page, (answer.entries ?? []).map(fromBase64));
    } catch {
      pages.current.delete(page);
    }
    if (pages.current.size > 40) pages.current.delete(pages.current.keys().next().value!);
    redraw((n) => n + 1);
  };
  return {
    need: (first: number, last: number) => {
      for (let page = Math.floor(first / PAGE); page <= last / PAGE; page++) void load(page);
    },
    entry: (index: number): Decoded | Error | undefined => {
      const bytes = pages.current.get(Math.floor(index / PAGE))?.[index % PAGE];
      try {
        return bytes && decodeEntry(bytes);
      } catch (error) {
        return error as Error;
      }
    },
  };
}

interface Opened {
  bytes: Uint8Array;
  sequence: number;
}
// The entry of a number, or of "sha256:" and a hash: every entry is looked at then.
async function find(
  ledger: string,
  entry: string,
  size: number,
  looked: (at: number) => void,
  signal: AbortSignal,
): Promise<Opened> {
  const read = async (first: number | string, pageSize: number) => {
    const request = { ledger, firstSequence: String(first), pageSize };
    return (await call("LedgerService/ReadEntries", request, signal)).entries ?? [];
  };
  if (!entry.startsWith("sha256:")) {
    const [text] = await read(entry, 1);
    if (text) return { bytes: fromBase64(text), sequence: Number(entry) };
    const count = `the ledger has ${grouped(size)} entries`;
    throw new CallError("not_found", `${count}, numbered from 0`);
  }
  for (let next = 0; next < size; looked(next)) {
    const entries = await read(next, 5000);
    if (!entries.length) break;
    for (const text of entries) {
      const bytes = fromBase64(text);
      if (hex(leaf(bytes)) === entry.slice(7)) return { bytes, sequence: next };
      next++;
    }
  }
  throw new CallError("not_found", "no entry of this ledger has this hash");
}

interface OneProps {
  ledger: string;
  entry: string;
  size: number;
}
export function OpenedEntry({ ledger, entry, size }: OneProps) {
  const [looked, setLooked] = useState(0);
  const [state, setState] = useState<Partial<Opened> & { error?: CallError }>({});
  useEffect(() => {
    const control = new AbortController();
    setState({});
    setLooked(0);
    find(ledger, entry, size, setLooked, control.signal).then(
      setState,
      (error) => !control.signal.aborted && setState({ error }),
    );
    return () => control.abort();
  }, [ledger, entry]);
  const { bytes, sequence = 0, error } = state;
  if (error) return <Failed error={error} what={`entry ${entry}`} />;
  if (!bytes) {
    const words = `Looked at ${grouped(looked)} of ${grouped(size)} entries`;
    return (
      <p class="loading" role="status">
        {looked ? words : "Reading the entry"}
      </p>
    );
  }
  let decoded: Decoded | undefined;
  try {
    decoded = decodeEntry(bytes);
  } catch {
    // Its bytes are shown.
  }
  const words = decoded && entryWords(decoded);
  const hash = hex(leaf(bytes));
  return (
    <Card
      title={`Entry ${grouped(sequence)}`}
      side={<A href={ledgerAddress(ledger)}>Close</A>}
      class="opened-entry"
    >
      <Facts
        rows={[
          words && ["What", `${words.kind}: ${words.what}`],
          ["Leaf hash", <Hash of={hash} />],
          ["Size", bytesText(bytes.length)],
          [
            "Links",
            <>
              <A href={entryAddress(ledger, sequence)}>by number</A> ·{" "}
              <A href={entryAddress(ledger, `sha256:${hash}`)}>by hash</A>
            </>,
          ],
          decoded?.caller && ["Brought by", <Name of={decoded.caller} whole />],
        ]}
      />
      <pre tabIndex={0}>{decoded ? JSON.stringify(decoded, null, 2) : hex(bytes)}</pre>
    </Card>
  );
}

function GoTo({ ledger, wrong }: { ledger: string; wrong: (why: string) => void }) {
  const [text, setText] = useState("");
  const find = (event: Event) => {
    event.preventDefault();
    const wanted = text.trim().toLowerCase().replace(/[,\s]/g, "").replace("sha256:", "");
    const number = /^\d{1,18}$/.test(wanted);
    if (!number && !/^[0-9a-f]{64}$/.test(wanted)) {
      return wrong("A number, or the 64 digits of a leaf's hash");
    }
    wrong("");
    go(entryAddress(ledger, number ? wanted : `sha256:${wanted}`) + location.search);
  };
  return (
    <form class="goto" onSubmit={find}>
      <label class="hidden" for="goto">
        Number or hash
      </label>
      <input
        id="goto"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        placeholder="number or hash"
        spellcheck={false}
        aria-describedby="goto-wrong"
      />
      <Button class="link" type="submit">
        Go to
      </Button>
    </form>
  );
}

const HEADS = ["Number", "Kind", "What", "Writer", "Recorded"];
interface RowProps {
  ledger: string;
  index: number;
  of: Decoded | Error | undefined; // undefined: not read yet
}
function Row({ ledger, index, of: found }: RowProps) {
  const entry = found instanceof Error ? undefined : found;
  const { kind, what } = entry
    ? entryWords(entry)
    : { kind: found && "unreadable", what: (found as Error | undefined)?.message };
  return (
    <>
      <span role="cell" class="num">
        <A href={entryAddress(ledger, index) + location.search}>{grouped(index)}</A>
      </span>
      <span role="cell">{kind}</span>
      <span role="cell" class="what" title={what}>
        {what}
      </span>
      <span role="cell">{entry && (entry.writer ? <Name of={entry.writer} /> : "server")}</span>
      <span role="cell">{entry && <Time of={entry.recordedTime} clock />}</span>
    </>
  );
}

export function EntryList({ ledger, size, entry }: Omit<OneProps, "entry"> & { entry?: string }) {
  const pages = usePages(ledger, size);
  const [wrong, setWrong] = useState("");
  return (
    <Section title="Entries" side={<GoTo ledger={ledger} wrong={setWrong} />}>
      {wrong && (
        <p id="goto-wrong" class="warn-text" role="alert">
          {wrong}
        </p>
      )}
      <div class="card flush">
        <LongList
          count={size}
          rowHeight={ROW}
          height={ROW * 9}
          label="Entries"
          head={HEADS.map((head) => (
            <span key={head} role="columnheader">
              {head}
            </span>
          ))}
          need={pages.need}
          start={entry && /^\d+$/.test(entry) ? Number(entry) : undefined}
          row={(index) => <Row ledger={ledger} index={index} of={pages.entry(index)} />}
        />
      </div>
    </Section>
  );
}
