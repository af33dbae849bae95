// What can be signed: the full guarantee, in the fields that a publication should state. What the
// ledger does not know stays visibly open.
import { useState } from "preact/hooks";
import { fromBase64, hex } from "../api/bytes";
import type { Statement as Message, StatementField } from "../api/types";
import { useCall } from "../api/use_call";
import { download } from "../parts/download";
import { EpsilonBlock, termsOf } from "../parts/epsilon";
import { A, Awaited, Button, Card, Hash, Section, Title } from "../parts/parts";
import { datasetAddress, go, ledgerAddress, statementAddress } from "../router";
import { fullName, Name, shortName, visible } from "../text/names";
import { grouped } from "../text/numbers";
import { Time } from "../text/time";
import { spaced } from "../text/words";
import { Refused } from "./refused";
import { ALL, statementRequest } from "./requests";

function Choose() {
  const ledgers = useCall("LedgerService/ListLedgers", ALL).data?.ledgers ?? [];
  const [text, setText] = useState("");
  const names = [...new Set(ledgers.map((ledger) => ledger.declaration?.dataset ?? ""))];
  const submit = (event: Event) => {
    event.preventDefault();
    if (!text) return;
    go(statementAddress(names.includes(text) ? { dataset: text } : { ledger: text }));
  };
  return (
    <>
      <Title
        title="Statement"
        about="The full guarantee of a ledger or of a data set, bound to a checkpoint."
      />
      <Card title="About what?">
        <form onSubmit={submit}>
          <label class="field">
            A ledger or a data set
            <input
              class="inline-field"
              list="known"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <datalist id="known">
            {names.map((name) => (
              <option key={name} value={name}>
                data set
              </option>
            ))}
            {ledgers.map(({ name }) => (
              <option key={name} value={shortName(name)}>
                ledger
              </option>
            ))}
          </datalist>
          <Button class="button primary" type="submit">
            Write it
          </Button>
        </form>
      </Card>
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

const Actions = ({ of: statement, name }: { of: Message; name: string }) => {
  const { markdown = "", html = "", ...json } = statement;
  const write = (end: string, type: string, text: string) => () =>
    download(`statement-${name}.${end}`, type, text);
  const text = JSON.stringify(json, null, 2);
  return (
    <>
      <Button onClick={write("md", "text/markdown", markdown)}>Markdown</Button>
      <Button onClick={write("html", "text/html", html)}>HTML</Button>
      <Button onClick={write("json", "application/json", text)}>JSON</Button>
      <Button class="button primary" onClick={() => print()}>
        Print
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
      {sections.map(({ heading, fields = [] }) => (
        <Card key={heading} title={visible(heading)}>
          <dl>
            {fields.map((field) => (
              <Field key={field.name} of={field} />
            ))}
          </dl>
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
        actions={<Actions of={data} name={name ?? ""} />}
      />
      <Awaited of={statement} what="the newest statement" />
      <Written of={data} />
    </>
  );
}
