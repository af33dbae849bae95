// What can be signed: the full guarantee, in the fields that a publication should state. What the
// ledger does not know stays visibly open.
import { useState } from "preact/hooks";
import { fromBase64, hex } from "../api/bytes";
import { call, CallError } from "../api/client";
import { useFound } from "../api/find";
import type { Statement as Message, StatementField, StatementTable } from "../api/types";
import { useCall } from "../api/use_call";
import { Ask } from "../parts/ask";
import { Chooser } from "../parts/chooser";
import { download } from "../parts/download";
import { EpsilonBlock, termsOf } from "../parts/epsilon";
import { A, Awaited, Button, Card, Failed, Hash, Section, Table, Title } from "../parts/parts";
import { datasetAddress, go, keeping, ledgerAddress, statementAddress } from "../router";
import { quoted } from "../text/filter";
import { fullName, Name, shortName, visible } from "../text/names";
import { grouped, number } from "../text/numbers";
import { Time } from "../text/time";
import { spaced } from "../text/words";
import { CheckDocument, Issue, Register } from "./issued";
import { Refused } from "./refused";
import { ALL, statementRequest } from "./requests";

function Choose() {
  const [text, setText] = useState("");
  const [error, setError] = useState<CallError | undefined>();
  const { found } = useFound(text);
  // What has this very name; a data set goes before a ledger.
  const submit = async (event: Event) => {
    event.preventDefault();
    const name = text.trim();
    if (!name) return;
    const exact = { parent: ALL.parent, pageSize: 1, filter: `dataset = ${quoted(name)}` };
    try {
      const { ledgers = [] } = await call("LedgerService/ListLedgers", exact);
      go(keeping(statementAddress(ledgers.length ? { dataset: name } : { ledger: name })));
    } catch (failed) {
      setError(failed as CallError);
    }
  };
  return (
    <>
      <Title
        title="Statement"
        about="The full guarantee of a ledger or of a data set, bound to a checkpoint."
      />
      <Card title="About what?">
        {error && <Failed error={error} what="what has this name" />}
        <form onSubmit={submit}>
          <Chooser label="A ledger or a data set" value={text} change={setText}>
            {found.datasets.map((name) => (
              <option key={name} value={name}>
                data set
              </option>
            ))}
            {found.ledgers.map((name) => (
              <option key={name} value={shortName(name)}>
                ledger
              </option>
            ))}
          </Chooser>
          <Button class="button primary" type="submit">
            Write it
          </Button>
        </form>
      </Card>
      <CheckDocument />
      <Section title="Statements that were issued">
        <Register />
      </Section>
    </>
  );
}

function Field({ of: { label, value, source } }: { of: StatementField }) {
  const lines = (value || "not stated in the ledger").split("\n");
  return (
    <div class={`statement-field ${source === "NOT_STATED" ? "open" : ""}`}>
      <dt>{visible(label)}</dt>
      <dd>
        {lines.map((line, i) => (
          <p key={i}>{visible(line)}</p>
        ))}
      </dd>
      <dd class="source">{spaced(source ?? "")}</dd>
    </div>
  );
}

const ByLedger = ({ of: { columns = [], rows = [] } }: { of: StatementTable }) => (
  <Table
    columns={columns.map((label, i) => ({ label, width: [220, 70, 80, 80][i] }))}
    rows={rows.map(({ cells = [] }) => ({
      key: cells[0],
      cells: cells.map((cell) => visible(cell)),
    }))}
  />
);

const saveHtml = (name: string, { html = "" }: Message) =>
  download(`statement-${name}.html`, "text/html", html);

// The server's document, in a tab of its own: what is printed is what can be issued and checked.
function printHtml(name: string, statement: Message) {
  const address = URL.createObjectURL(new Blob([statement.html ?? ""], { type: "text/html" }));
  const tab = open(address);
  if (tab) tab.addEventListener("load", () => tab.print());
  else saveHtml(name, statement); // the browser opens no tabs
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

interface ActionsProps {
  of: Message;
  name: string;
  issue: () => void;
}
const Actions = ({ of: statement, name, issue }: ActionsProps) => {
  const { markdown = "", html: _, ...json } = statement;
  const write = (end: string, type: string, text: string) => () =>
    download(`statement-${name}.${end}`, type, text);
  const text = JSON.stringify(json, null, 2);
  return (
    <>
      <Button onClick={write("md", "text/markdown", markdown)}>Markdown</Button>
      <Button onClick={() => saveHtml(name, statement)}>HTML</Button>
      <Button onClick={write("json", "application/json", text)}>JSON</Button>
      <Button onClick={() => printHtml(name, statement)}>Print</Button>
      <Button class="button primary" onClick={issue}>
        Issue…
      </Button>
    </>
  );
};

function Written({ of: { answer = {}, sections = [], checkpoints = [] } }: { of: Message }) {
  const { epsilon, details, delta, refusal, inWords } = answer;
  return (
    <>
      <Card class="epsilon-card">
        {epsilon ? (
          <EpsilonBlock epsilon={epsilon} details={details} terms={termsOf(details, delta)} />
        ) : (
          <Refused message={refusal?.message} code={{ reason: refusal?.reason }} />
        )}
        {inWords && (
          <div class="plain-words">
            <p>{visible(inWords)}</p>
          </div>
        )}
      </Card>
      {sections.map(({ heading, fields = [], table }) => (
        <Card key={heading} title={visible(heading)}>
          <dl>
            {fields.map((field) => (
              <Field key={field.name} of={field} />
            ))}
          </dl>
          {table && <ByLedger of={table} />}
        </Card>
      ))}
      <Section title="Bound to">
        <div class="card">
          {checkpoints.map(({ ledger, size = "0", rootHash = "" }) => (
            <p key={ledger}>
              <A href={`${ledgerAddress(ledger)}?size=${size}`}>
                <Name of={shortName(ledger)} />
              </A>{" "}
              at {grouped(size)} entries, root <Hash of={hex(fromBase64(rootHash))} />
            </p>
          ))}
        </div>
      </Section>
    </>
  );
}

export function Statement({ ledger, dataset }: { ledger?: string; dataset?: string }) {
  return ledger || dataset !== undefined ? <One ledger={ledger} dataset={dataset} /> : <Choose />;
}
function One({ ledger, dataset }: { ledger?: string; dataset?: string }) {
  const statement = useCall("StatementService/GetStatement", statementRequest(ledger, dataset));
  const { data } = statement;
  const [issuing, setIssuing] = useState(false);
  const [issued, setIssued] = useState(0);
  const ask = <Ask shown={data && number(data.answer?.delta)} total={ledger && ""} />;
  const name = ledger ? shortName(fullName(ledger)) : dataset;
  const about = (
    <A href={ledger ? ledgerAddress(fullName(ledger)) : datasetAddress(name)}>
      <Name of={name} />
    </A>
  );
  if (!data) {
    return (
      <>
        <Title trail={about} title="Statement" />
        {ask}
        <Awaited of={statement} what="the statement" />
      </>
    );
  }
  return (
    <>
      <Title
        trail={about}
        title={<Name of={data.title} whole />}
        about={
          <>
            Written <Time of={data.time} clock /> by version {data.version}, from what the
            checkpoints below cover.
          </>
        }
        actions={<Actions of={data} name={name ?? ""} issue={() => setIssuing(true)} />}
      />
      {ask}
      <Awaited of={statement} what="the newest statement" />
      <Written of={data} />
      <Section title="Issued about this">
        <Register ledger={ledger && fullName(ledger)} dataset={dataset} version={issued} />
      </Section>
      {issuing && (
        <Issue
          request={statementRequest(ledger, dataset)}
          issued={() => setIssued(issued + 1)}
          close={() => setIssuing(false)}
          save={(made) => saveHtml(`${name}-${made.issued?.number}`, made)}
        />
      )}
    </>
  );
}
