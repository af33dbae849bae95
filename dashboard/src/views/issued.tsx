// Statements that somebody answers for: what the register holds, the form that issues one, and
// whether a document that the reader was handed is one of them.
import { useState } from "preact/hooks";
import { hex } from "../api/bytes";
import { call, CallError } from "../api/client";
import type { GetStatementRequest, IssuedStatement, Issuer, Statement } from "../api/types";
import { useCall } from "../api/use_call";
import { Dialog } from "../parts/dialog";
import { A, Awaited, Button, Card, Failed, Notice, Table } from "../parts/parts";
import { datasetAddress, ledgerAddress } from "../router";
import { Name, shortName, visible } from "../text/names";
import { number, textNear, textUp } from "../text/numbers";
import { now, Time } from "../text/time";
import { isOdometer } from "../text/words";
import { sha256 } from "../verify/sha256";
import { Drop } from "../verify/verdict";

const day = (time: string | undefined) => (time ?? "").slice(0, 10);
const isOver = ({ validUntil }: Issuer) => !!validUntil && Date.parse(validUntil) <= now.value;

function standing({ issuer = {}, withdrawal }: IssuedStatement): string {
  if (withdrawal) return `withdrawn ${day(withdrawal.time)}: ${withdrawal.reason}`;
  if (!issuer.validUntil) return "stands, no end is stated";
  return `${isOver(issuer) ? "was" : "is"} valid until ${day(issuer.validUntil)}`;
}
const statedBy = ({ name, role, organization }: Issuer = {}) =>
  visible([name, role, organization].join(", "));

const About = ({ of: { ledger, dataset } }: { of: IssuedStatement }) =>
  ledger ? (
    <A href={ledgerAddress(ledger)}>
      <Name of={shortName(ledger)} />
    </A>
  ) : (
    <A href={datasetAddress(dataset)}>
      <Name of={dataset} />
    </A>
  );

function rowOf(one: IssuedStatement) {
  const { epsilon, delta, regime } = one;
  return {
    key: one.number,
    cells: [
      one.number,
      <About of={one} />,
      statedBy(one.issuer),
      <Time of={one.issueTime} day />,
      epsilon
        ? `${isOdometer(regime) ? "odometer, " : ""}${textUp(number(epsilon.upper))}`
        : "refused",
      textNear(number(delta)),
      visible(standing(one)),
    ],
  };
}
const COLUMNS = ["Number", "About", "Stated by", "Issued", "ε", "δ", "State"];
const WIDTHS = [72, 160, 250, 100, 130, 72, 220]; // where a row is one line

interface RegisterProps {
  ledger?: string; // full name
  dataset?: string;
  version?: unknown; // changes: ask again
}
// What the register says of a ledger or a data set; of neither: of all that the reader may see.
export function Register({ ledger, dataset, version }: RegisterProps) {
  const list = useCall("StatementService/ListStatements", { ledger, dataset }, version);
  const { statements = [], nextPageToken } = list.data ?? {};
  return (
    <>
      <Awaited of={list} what="the register" />
      {list.data &&
        (statements.length ? (
          <Table
            class="lines"
            columns={COLUMNS.map((label, i) => ({ label, width: WIDTHS[i] }))}
            rows={statements.map(rowOf)}
          />
        ) : nextPageToken ? (
          <p class="muted">None of the newest is.</p>
        ) : (
          <p class="muted">
            None was issued{ledger || dataset !== undefined ? " about this" : ""}.
          </p>
        ))}
      {nextPageToken && <p class="faint">Older ones: dpledger statements list</p>}
    </>
  );
}

// A document that the reader was handed, compared with the register by its hash.
export function CheckDocument() {
  const [found, setFound] = useState<{ file: string; one?: IssuedStatement }>();
  const [error, setError] = useState<CallError>();
  const check = async ([file]: File[]) => {
    setFound(undefined);
    setError(undefined);
    try {
      const hash = hex(sha256(new Uint8Array(await file.arrayBuffer())));
      const { statement } = await call("StatementService/FindStatement", { sha256: hash });
      setFound({ file: file.name, one: statement });
    } catch (failed) {
      if ((failed as CallError).code === "not_found") setFound({ file: file.name });
      else setError(failed as CallError);
    }
  };
  const { file = "", one } = found ?? {};
  const fate = one?.withdrawal ? "which was withdrawn" : "as it was issued";
  const stands = one && !one.withdrawal && !isOver(one.issuer ?? {});
  return (
    <Card title="Were you handed a statement?">
      <Drop what="statement" take={check}>
        <p>
          Drop the file here, as you received it. It stays in this browser: its hash is asked for.
        </p>
      </Drop>
      {error && <Failed error={error} what="the register" />}
      {found && !one && (
        <Notice shape="refused" tone="bad" title={`${visible(file)} was not issued here`}>
          The register has no statement with this file’s hash: the file was changed, was not issued,
          or was issued by another server.
        </Notice>
      )}
      {one && (
        <>
          <Notice
            shape={stands ? "held" : "attend"}
            tone={stands ? "held" : "warn"}
            title={`${visible(file)} is statement ${one.number}, ${fate}`}
          >
            By the word of this server. “dpledger statements check” verifies it by the register’s
            signature.
          </Notice>
          <Table columns={COLUMNS} rows={[rowOf(one)]} />
        </>
      )}
    </Card>
  );
}

interface IssueProps {
  request: GetStatementRequest;
  issued: () => void;
  close: () => void;
  save: (statement: Statement) => void;
}
// Who answers for the statement; then its documents, which the register does not keep.
export function Issue({ request, issued, close, save }: IssueProps) {
  const [issuer, setIssuer] = useState<Issuer>({});
  const [made, setMade] = useState<Statement>();
  const [error, setError] = useState<CallError>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    setBusy(true);
    try {
      const statement = await call("StatementService/IssueStatement", {
        statement: request,
        issuer,
      });
      save(statement); // at once: nobody else has it
      setMade(statement);
      issued();
    } catch (failed) {
      setError(failed as CallError);
    }
    setBusy(false);
  };
  const field = (name: "organization" | "name" | "role", label: string) => (
    <label class="field">
      {label}
      <input
        required
        value={issuer[name] ?? ""}
        onInput={(event) => setIssuer({ ...issuer, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <Dialog title="Issue a statement" close={busy ? () => {} : close}>
      {made ? (
        <>
          <p>
            Statement {made.issued?.number} of the register was saved as a file. Keep it: the
            register holds its hash alone.
          </p>
          <Button class="button primary" onClick={() => save(made)}>
            Save it again
          </Button>
        </>
      ) : (
        <form onSubmit={submit}>
          <p class="muted">
            Whoever is named here answers for the statement. It is entered into the server’s
            register for good; it can be withdrawn, and stays there.
          </p>
          <div class="plan-form">
            {field("organization", "Organization")}
            {field("name", "Person or office")}
            {field("role", "Role")}
            <label class="field">
              Valid until this day begins (UTC)
              <input
                type="date"
                onInput={({ currentTarget: { value } }) =>
                  setIssuer({ ...issuer, validUntil: value ? `${value}T00:00:00Z` : undefined })
                }
              />
            </label>
          </div>
          {error && <Failed error={error} what="the statement" />}
          <Button class="button primary" type="submit" disabled={busy}>
            Issue it
          </Button>
        </form>
      )}
    </Dialog>
  );
}
