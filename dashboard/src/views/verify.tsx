// Is the record whole? Every check runs in this browser, on the bytes that the server sends or that
// a bundle holds.
import { useEffect, useMemo, useState } from "preact/hooks";
import { headers } from "../api/client";
import { useFound } from "../api/find";
import { Ask } from "../parts/ask";
import { Chooser } from "../parts/chooser";
import { download } from "../parts/download";
import { A, Button, Card, Notice, Table, Title } from "../parts/parts";
import { urlOf } from "../prefix";
import {
  askedDelta,
  givenSize,
  go,
  keeping,
  ledgerAddress,
  place,
  setQuery,
  verifyAddress,
} from "../router";
import { fullName, Name, shortName } from "../text/names";
import { checkedHere, everythingSeen, keepKeys, keepSeen, keptKeys } from "../verify/kept";
import type { End } from "../verify/job";
import { givenKeys, WITNESS_KEY } from "../verify/note";
import { grouped } from "../text/numbers";
import { givenOptions } from "./requests";
import { Drop, KeysField, namesOf, useChecks, Verdict } from "../verify/verdict";

export function Verify({ name }: { name?: string }) {
  const [files, setFiles] = useState<File[] | undefined>();
  const [tries, setTries] = useState(0);
  const again = () => setTries(tries + 1);
  const keys = place.value.query.get("keys") ?? "";
  const given = givenKeys(keys).keys.map((key) => key.text);
  const delta = askedDelta();
  const size = givenSize();
  const method = givenOptions()?.method;
  useEffect(() => setFiles(undefined), [name]);
  // Anew for every key that is given or kept.
  const job = useMemo(() => {
    const kept = givenKeys(keptKeys.value.join("\n")).keys.map((key) => key.text);
    const base = { given, kept, seen: everythingSeen(), delta };
    if (files) return { ...base, files };
    const at = { base: location.origin + urlOf(""), headers: headers() };
    return name ? { ...base, size, method, server: { ...at, ledger: name } } : undefined;
  }, [name, files, tries, delta, size, method, given.join("\n"), keptKeys.value]);
  const running = useChecks(job, ({ size, key, registry }: End) => {
    keepSeen(registry.origin, { size: registry.size, root: registry.root, key });
    if (!files && name) checkedHere.set(name, size);
  });
  const { end } = running;
  const shown = files ? namesOf(files) : name ? shortName(name) : "";
  const about = shown ? (
    <>
      Every check runs in this browser, on{" "}
      {files ? "the bytes of what you chose" : "bytes fetched now"}. The page’s own code came from
      this server too: see the last list.
    </>
  ) : (
    "Is the record whole, and is it the one that was signed?"
  );
  const trail = name && (
    <>
      <A href="/ledgers">Ledgers</A> /{" "}
      <A href={ledgerAddress(name)}>
        <Name of={shortName(name)} />
      </A>
    </>
  );
  const title = shown ? (
    <>
      Verify <Name of={shown} />
    </>
  ) : (
    "Verify"
  );
  const keep = end && (files?.length ?? 0) <= 1 && (
    <Button
      onClick={() =>
        download(`${shown}.checkpoint`, "text/plain", `${end.note}\n${end.registry.note}`)
      }
    >
      Keep this checkpoint
    </Button>
  );
  return (
    <>
      <Title
        trail={trail}
        title={title}
        about={about}
        actions={job && <Button onClick={again}>Run again</Button>}
      />
      {name && !files && <Ask shown={delta} total={end?.size ?? ""} />}
      {name && !files && size && (
        <Notice
          shape="open"
          tone="info"
          title={`ε is recomputed of the first ${grouped(size)} entries`}
          action={
            <Button class="link" onClick={() => setQuery({ size: "" })}>
              Of all
            </Button>
          }
        >
          All entries are checked: the signature is of all.
        </Notice>
      )}
      {!isSecureContext && (
        <Notice shape="attend" tone="warn" title="This page came over plain HTTP">
          Anybody between the server and you can change the page and its answers. Signatures are
          checked by the page’s own code here.
        </Notice>
      )}
      {job ? (
        <Verdict
          running={running}
          name={shown}
          files={files?.length ?? 0}
          actions={keep}
          shows={
            <>
              That this page is honest: the server that it checks sent it. A bundle, with a{" "}
              <a href={urlOf("/verifier/dpledger-verifier.html")} download>
                verifier of your own
              </a>{" "}
              or the command line, decides that.
            </>
          }
        />
      ) : (
        <Choose />
      )}
      <Card title={job ? "Check something else" : "Check a bundle"}>
        <Drop
          several
          take={(chosen) => {
            setFiles(chosen);
            again(); // the same file may have changed
          }}
        >
          <strong>Drop a bundle here, or a budget’s with those of its runs</strong>
          <span>
            It is checked in this browser, and sent nowhere. <code>dpledger ledger export</code>{" "}
            makes one.
          </span>
        </Drop>
      </Card>
      <Trusted keys={keys} given={given} />
    </>
  );
}

// The keys that the reader trusts: given for this check, in the address; or kept for all.
function Trusted({ keys, given }: { keys: string; given: string[] }) {
  const kept = givenKeys(keptKeys.value.join("\n")).keys;
  const unkept = given.filter((key) => !keptKeys.value.includes(key));
  const keep = () => {
    keepKeys([...keptKeys.value, ...given]);
    setQuery({ keys: "" });
  };
  return (
    <Card title="Keys that you trust">
      {kept.length > 0 && (
        <Table
          columns={[{ label: "Kept for", class: "main" }, "Whose", "Key id", "Remove"]}
          rows={kept.map(({ name, type, id, text }) => ({
            key: text,
            cells: [
              <Name of={name} />,
              type === WITNESS_KEY ? "a witness’s" : "a log’s",
              <code title={text}>{id}</code>,
              <Button
                class="link"
                aria-label={`Remove the key of ${name}`}
                onClick={() => keepKeys(keptKeys.value.filter((key) => key !== text))}
              >
                Remove
              </Button>,
            ],
          }))}
        />
      )}
      <KeysField value={keys} change={(text) => setQuery({ keys: text })} />
      {unkept.length > 0 && (
        <Button onClick={keep}>Keep {unkept.length > 1 ? "them" : "it"} in this browser</Button>
      )}
      <p class="footnote">
        Kept keys are used in every check here, each for what has its name. They stay in this
        browser, where pages of this server can change them: a verifier on your own disk is given
        its keys each time.
      </p>
    </Card>
  );
}

function Choose() {
  const [text, setText] = useState("");
  const { ledgers } = useFound(text).found;
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim()) go(keeping(verifyAddress(fullName(text.trim()))));
  };
  return (
    <Card title="Check a ledger of this server">
      <form onSubmit={submit}>
        <Chooser label="Ledger" value={text} change={setText}>
          {ledgers.map((name) => (
            <option key={name} value={shortName(name)} />
          ))}
        </Chooser>
        <Button class="button primary" type="submit" disabled={!text.trim()}>
          Check it
        </Button>
      </form>
    </Card>
  );
}
