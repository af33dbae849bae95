// What a ledger's number stands on: its declaration, the evidence, its writers, what was assumed.
import type { ComponentChildren } from "preact";
import { fromBase64, hex } from "../api/bytes";
import type { AnswerDetails, Ledger, WriterStatus } from "../api/types";
import { useCall } from "../api/use_call";
import { A, Card, Facts, Hash, List } from "../parts/parts";
import {
  activityAddress,
  datasetAddress,
  entryAddress,
  ledgerAddress,
  verifyAddress,
} from "../router";
import { Name, said, shortName, visible } from "../text/names";
import { entriesText, grouped, number, plural } from "../text/numbers";
import { Time } from "../text/time";
import {
  adjacencyWords,
  blocksText,
  filterWords,
  keeperWords,
  keyId,
  policyWords,
} from "../text/words";
import type { Special } from "./entries";

const MOST_LISTED = 20;
const Missing = ({ children }: { children: ComponentChildren }) => (
  <span class="warn-text">{children}</span>
);

function Declared({ of: declaration = {} }: { of: Ledger["declaration"] }) {
  const { dataset, unitOfPrivacy, released, description, filter, planIndependent } = declaration;
  const { budget, blocks = [], kind } = declaration;
  const planned = number(declaration.plannedRounds);
  return (
    <Card title="Declared before the first event">
      <Facts
        rows={[
          [
            "Data set",
            <A href={datasetAddress(dataset)}>
              <Name of={dataset} />
            </A>,
          ],
          [
            "One record is",
            <>
              one <Name of={unitOfPrivacy} />
            </>,
          ],
          ["Neighbours", adjacencyWords(declaration.adjacency)],
          ["Released", released ? <Name of={released} whole /> : <Missing>not stated</Missing>],
          ["Rounds planned", planned ? grouped(planned) : "not stated"],
          declaration.parameters === "ADAPTIVE"
            ? ["Filter", filter ? filterWords(filter) : <Missing>none declared</Missing>]
            : ["Plan independent", planIndependent ? "declared" : <Missing>not declared</Missing>],
          filter && ["Filter kept", keeperWords(declaration)],
          budget && [
            "Budget",
            <A href={ledgerAddress(budget)}>
              <Name of={shortName(budget)} />
            </A>,
          ],
          blocks.length > 0 && ["Blocks", blocksText(blocks)],
          kind === "BUDGET" && ["Kind", "a budget: runs are granted parts of it"],
          ["Noise released", policyWords(declaration)],
          description && ["In own words", <Name of={description} whole />],
        ]}
      />
    </Card>
  );
}

interface OfEntries {
  ledger: Ledger;
  specials: Special[];
}
const Entry = ({ of: sequence, ledger }: { of: number; ledger: string | undefined }) => (
  <A href={entryAddress(ledger ?? "", sequence)}>{grouped(sequence)}</A>
);
// The entries of these kinds, with a mark between number and text.
function Specials({ ledger, specials, kinds, mark }: SpecialsProps) {
  const found = specials.filter((one) => kinds.includes(one.kind)).slice(0, MOST_LISTED);
  if (!found.length) return <>none</>;
  return (
    <ul class="flat">
      {found.map(({ sequence, kind, text }) => (
        <li key={sequence}>
          <Entry of={sequence} ledger={ledger.name} />
          {mark ?? ` ${kind}: `}
          {text}
        </li>
      ))}
    </ul>
  );
}
interface SpecialsProps extends OfEntries {
  kinds: string[];
  mark?: string;
}

function Signed({ ledger }: { ledger: Ledger }) {
  const asked = { log: ledger.name };
  const { data, error } = useCall("AuditService/GetCheckpoint", asked, ledger.size);
  if (!data) return <>{error ? visible(error.message) : "asking"}</>;
  const size = data.note?.split("\n")[1] ?? "0";
  const what = size === ledger.size ? "all of them" : `the first ${grouped(size)}`;
  return (
    <>
      {what}, by this server’s key
      <br />
      <code class="faint">{keyId(data.verifierKeys?.at(-1))}</code>
    </>
  );
}

function Evidence({ ledger, specials }: OfEntries) {
  const { name = "", size, rootHash = "", createTime, creator, fork, import: copy } = ledger;
  return (
    <Card title="Evidence">
      <Facts
        rows={[
          ["Entries", grouped(size)],
          ["Root", <Hash of={hex(fromBase64(rootHash))} length={32} />],
          ["Signed", <Signed ledger={ledger} />],
          [
            "Made",
            <>
              <Time of={createTime} clock />
              {creator && (
                <>
                  {" "}
                  by <Name of={creator} />
                </>
              )}
            </>,
          ],
          fork && [
            "Carries on",
            <>
              <A href={ledgerAddress(fork.parent)}>
                <Name of={shortName(fork.parent)} />
              </A>{" "}
              from entry {grouped(fork.parentSize)}
            </>,
          ],
          copy && ["Copy of", <Name of={copy.origin} whole />],
          [
            "Forks",
            <Specials ledger={ledger} specials={specials} kinds={["fork notice"]} mark=": " />,
          ],
          [
            "Corrections",
            <Specials ledger={ledger} specials={specials} kinds={["correction"]} mark=", " />,
          ],
        ]}
      />
      <p class="card-foot">
        <A href={verifyAddress(name)}>Check all of it in this browser</A> ·{" "}
        <A href={activityAddress(name)}>Who read it</A>
      </p>
    </Card>
  );
}

const Writer = ({ of: status, ledger }: { of: WriterStatus; ledger: string | undefined }) => (
  <li>
    <Name of={status.writer} />{" "}
    <span class="muted">
      {status.closed ? "closed" : "open"}, {entriesText(status.entryCount)}
    </span>
    {status.incarnation && (
      <small class="faint">
        incarnation <Name of={status.incarnation} />, opened by entry{" "}
        <Entry of={number(status.openedSequence)} ledger={ledger} />
      </small>
    )}
    {(status.missingSpools ?? []).map(({ incarnation }) => (
      <small key={incarnation} class="warn-text">
        the spool of <Name of={incarnation} /> may hold what was never delivered
      </small>
    ))}
    {status.owner && (
      <small class="faint">
        belongs to <Name of={status.owner} />
      </small>
    )}
  </li>
);
const OF_WRITERS = ["opened", "conflict", "spool imported", "resume"];
function Writers({ ledger, specials }: OfEntries) {
  const { writers = [], writerCount } = ledger;
  const events = specials.filter((one) => OF_WRITERS.includes(one.kind));
  return (
    <Card title={plural(writerCount, "writer")}>
      {writers.length === 0 && <p class="muted">Nobody has written yet.</p>}
      <ul class="flat writers">
        {writers.slice(0, MOST_LISTED).map((status) => (
          <Writer key={status.writer} of={status} ledger={ledger.name} />
        ))}
      </ul>
      {writers.length > MOST_LISTED && (
        <p class="faint">and {grouped(number(writerCount) - MOST_LISTED)} more</p>
      )}
      {events.length > 0 && (
        <div class="muted">
          <Specials ledger={ledger} specials={events} kinds={OF_WRITERS} />
        </div>
      )}
    </Card>
  );
}

function Assumed({ of: { assumptions = [], warnings = [], version } }: { of: AnswerDetails }) {
  const lines = assumptions.length ? assumptions.map(said) : ["nothing beyond the declaration"];
  return (
    <Card title="This number assumes">
      <List of={lines} />
      {warnings.length > 0 && (
        <>
          <h3>It leaves out, or warns</h3>
          <List of={warnings.map(said)} />
        </>
      )}
      <p class="faint card-foot">Worked out by version {version}</p>
    </Card>
  );
}

interface AsideProps extends OfEntries {
  details?: AnswerDetails;
}
export const Aside = ({ ledger, details, specials }: AsideProps) => (
  <aside>
    <Declared of={ledger.declaration} />
    <Evidence ledger={ledger} specials={specials} />
    <Writers ledger={ledger} specials={specials} />
    {details && <Assumed of={details} />}
  </aside>
);
