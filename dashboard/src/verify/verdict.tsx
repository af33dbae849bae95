// What the checks say, in words: what was proved, what was not, and what no such check can show.
// The page and the single-file verifier share it.
import type { ComponentChildren } from "preact";
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { downloadCsv } from "../parts/download";
import { Chip, Icon, type Shape, type Tone } from "../parts/icon";
import { Button, Card, List, Progress, Section } from "../parts/parts";
import { bytesText, entriesText, grouped } from "../text/numbers";
import { fullWords } from "../text/dates";
import { Name, visible } from "../text/names";
import { keyId } from "../text/words";
import { checkRow, type Check, type End, type Job, type Outcome, type Witness } from "./job";
import { givenKeys } from "./note";
import { run } from "./in_worker";

interface Running {
  checks: Check[];
  progress?: { done: number; total: number; bytes: number };
  end?: End;
  broken?: string;
  started: number;
}
const begun = (): Running => ({ checks: [], started: Date.now() });

// The checks of `job`, from its first render on: the verdict on one file never stands under
// another's name.
export function useChecks(job: Job | undefined, ended?: (end: End) => void): Running {
  type Heard = { job: Job | undefined; running: Running };
  const [heard, setHeard] = useState<Heard>({ job: undefined, running: begun() });
  useEffect(() => {
    if (!job) return;
    const change = (to: (old: Running) => Running) =>
      setHeard((old) => ({ job, running: to(old.job === job ? old.running : begun()) }));
    change(begun);
    return run(
      job,
      (message) => {
        if (message.type === "check") {
          change((old) => ({ ...old, checks: [...old.checks, message.check] }));
        } else if (message.type === "progress") {
          change((old) => ({ ...old, progress: message }));
        } else {
          change((old) => ({ ...old, end: message.end }));
          ended?.(message.end);
        }
      },
      (broken) => change((old) => ({ ...old, broken })),
    );
  }, [job]);
  return heard.job === job ? heard.running : begun();
}

const MARKS: Record<Outcome, { shape: Shape; class: string }> = {
  held: { shape: "held", class: "held" },
  failed: { shape: "refused", class: "bad" },
  none: { shape: "unknown", class: "none" },
  missing: { shape: "attend", class: "warn" },
  unfinished: { shape: "attend", class: "warn" },
};
const WITNESS: Record<Witness["is"], { shape: Shape; tone: Tone; words: string }> = {
  checked: { shape: "held", tone: "held", words: "cosigned, checked with your key" },
  said: { shape: "unknown", tone: "plain", words: "cosigned, it is said: you have no key of it" },
  absent: { shape: "attend", tone: "warn", words: "has not cosigned" },
  other: { shape: "refused", tone: "bad", words: "cosigned by another key than yours" },
};
// The witnesses by name, at one glance.
const Witnesses = ({ of: witnesses }: { of: Witness[] }) => (
  <div class="chips" data-witnesses>
    {witnesses.map(({ name, is }) => (
      <Chip key={name} shape={WITNESS[is].shape} tone={WITNESS[is].tone}>
        <span>
          Witness <Name of={name} />: {WITNESS[is].words}
        </span>
      </Chip>
    ))}
  </div>
);
function took({ outcome, ms, bytes }: Check): string {
  if (outcome === "none") return "not proved";
  if (outcome === "missing") return "not there";
  if (outcome === "unfinished") return "not finished";
  const seconds = ms === undefined ? "" : `${(ms / 1000).toFixed(1)} s`;
  const time =
    ms === undefined || ms >= 1000 ? seconds : ms < 1 ? "< 1 ms" : `${Math.round(ms)} ms`;
  return [time, bytes ? bytesText(bytes) : ""].filter(Boolean).join(" · ");
}
// Of one file after another, where there are several.
const CheckRows = ({ of: checks }: { of: Check[] }) => (
  <div class="card flush checks">
    {checks.map((check, i) => (
      <Fragment key={`${check.of} ${check.id}`}>
        {check.of !== checks[i - 1]?.of && (
          <h3 class="check-file">{check.of ? <Name of={check.of} /> : "Together"}</h3>
        )}
        <CheckRow of={check} />
      </Fragment>
    ))}
  </div>
);
const CheckRow = ({ of: check }: { of: Check }) => (
  <div
    class={`check-row ${MARKS[check.outcome].class}`}
    data-check={check.id}
    data-outcome={check.outcome}
  >
    <Icon shape={MARKS[check.outcome].shape} />
    <div>
      <strong>
        {check.title}
        {check.outcome === "failed" && ": failed"}
      </strong>
      <p>{visible(check.text)}</p>
      {check.expected && (
        <p>
          Signed: <code>{check.expected}</code>
        </p>
      )}
      {check.found && (
        <p>
          Found: <code>{check.found}</code>
        </p>
      )}
    </div>
    <span class="took">{took(check)}</span>
  </div>
);

interface VerdictProps {
  running: Running;
  name: string;
  files: number; // 0: what is checked comes from a server
  actions?: ComponentChildren;
  shows?: ComponentChildren; // a further thing that the checks do not show
}
interface Verdict {
  shape: Shape;
  tone: string;
  title: string;
  text: string;
}
// In every ledger.
const holds = (checks: Check[], id: string) => {
  const those = checks.filter((one) => one.id === id);
  return those.length > 0 && those.every((one) => one.outcome === "held");
};
function verdictOf({ running, name, files }: VerdictProps): Verdict {
  const { checks, end, progress, broken } = running;
  const has = (outcome: Outcome) => checks.find((check) => check.outcome === outcome);
  const held = (id: string) => holds(checks, id);
  if (broken) {
    const title = "The checks did not run";
    return { shape: "refused", tone: "bad", title, text: visible(broken) };
  }
  const failed = has("failed");
  if (failed) {
    const title = `${visible(failed.of ?? name)}: ${failed.title.toLowerCase()} failed`;
    const text = "Do not rely on what this ledger shows. Keep the evidence, and ask its keeper.";
    return { shape: "refused", tone: "bad", title, text };
  }
  const stopped = has("unfinished");
  if (stopped) {
    const { title, meaning } = stopped.stopped!;
    return { shape: "attend", tone: "", title, text: `${visible(stopped.text)} ${meaning}` };
  }
  if (!end) {
    const read = progress && `${grouped(progress.done)} of ${grouped(progress.total)} entries`;
    const text = progress
      ? `${read}, ${bytesText(progress.bytes)}`
      : "Asking for the signed checkpoint";
    return { shape: "unknown", tone: "", title: "Checking", text };
  }
  const shown = ["shown", "in the bundle"][files] ?? `in the ${files} bundles`;
  const title =
    Number(end.size) === 1
      ? "The 1 entry is the one that was signed"
      : `The ${grouped(end.size)} entries ${shown} are the ones that were signed`;
  const missing = has("missing");
  if (missing) {
    const asked =
      {
        key: "by no key that you gave",
        document: "and your document does not stand",
        budget:
          missing.reason === "NO_BUDGET"
            ? "and they are not all of one budget"
            : "and a budget was not checked as a whole",
      }[missing.id as string] ?? "without a witness of yours";
    return {
      shape: "attend",
      tone: "warn",
      title: `${title}, ${asked}`,
      text: visible(missing.text),
    };
  }
  const received = fullWords(running.started);
  const open = [
    !held("key") && "whose key that is",
    !held("witness") && "whether others see the same",
  ].filter(Boolean);
  const words = open.join(", and ").replace(/^./, (letter) => letter.toUpperCase());
  const rest =
    !has("none") || !words ? "" : ` ${words}${open.length > 1 ? "," : ""} was not proved.`;
  const text = `Signed by key ${keyId(end.key)}, received ${received}.${rest}`;
  return { shape: "held", tone: "held", title, text };
}

export function Verdict(props: VerdictProps) {
  const { running, actions, shows, files } = props;
  const { checks, end, progress } = running;
  const { shape, tone, title, text } = verdictOf(props);
  const counted = (outcome: Outcome) => checks.filter((one) => one.outcome === outcome).length;
  const held = (id: string) => holds(checks, id);
  const [failed, none] = [counted("failed"), counted("none")];
  const witnesses = checks.find((one) => one.witnesses?.length)?.witnesses;
  const over = shape !== "unknown";
  const missing = counted("missing");
  const sums = [
    [
      `${counted("held")} held`,
      failed && `${failed} failed`,
      missing && `${missing} not there`,
      `${none} could not be made`,
    ]
      .filter(Boolean)
      .join(", "),
    end && `${(end.ms / 1000).toFixed(2)} s`,
  ];
  return (
    <>
      <section class={`card verdict ${tone}`} aria-live="polite">
        <span class="badge">
          <Icon shape={shape} size={22} />
        </span>
        <div>
          <div class="verdict-title">
            {title}
            {over && tone !== "bad" && none > 0 && <Chip shape="unknown">{none} not proved</Chip>}
          </div>
          <p>{text}</p>
          {witnesses && <Witnesses of={witnesses} />}
          {!over && progress && (
            <Progress of={progress.done} total={progress.total} label="Entries hashed" />
          )}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </section>
      {checks.length > 0 && (
        <Section
          title="Checks"
          side={
            <>
              {sums.filter(Boolean).join(" · ")}
              <Button
                class="link"
                disabled={!over}
                onClick={() => downloadCsv(`checks-${props.name}`, checks.map(checkRow))}
              >
                CSV
              </Button>
            </>
          }
        >
          <CheckRows of={checks} />
        </Section>
      )}
      {end && (
        <div class="two">
          <Card title="What this shows">
            <List
              of={[
                "Nobody changed, removed or reordered an entry after it was signed, as far as " +
                  "this key tells.",
                held("cost") &&
                  "The cost above follows from these entries: it was recomputed here, by the " +
                    "accountant itself.",
                held("history") &&
                  "Since this browser first looked, nothing that it saw was rewritten.",
                held("key") && "A key that you trust signed it.",
                held("witness") && "A witness that you trust saw the same registry.",
                held("budget") &&
                  "The budget was kept: it was checked here, as a server checks it.",
                !files &&
                  `${entriesText(end.size)} and no others make up the ledger at this checkpoint.`,
              ]}
            />
          </Card>
          <Card title="What it does not show">
            <List
              of={[
                !held("key") && (
                  <>
                    That the key belongs to your organisation. Compare{" "}
                    <code data-key>{end.key}</code> with one you got another way.
                  </>
                ),
                !held("witness") && "That others see this same history: that takes a witness.",
                !held("cost") && (
                  <>
                    That any number of the cost follows from the entries. It was not recomputed
                    here; <code>dpledger ledger verify</code> does it, from a bundle.
                  </>
                ),
                shows,
                files > 0 &&
                  `What its readable copies (README, events.jsonl${
                    held("cost") ? "" : ", statement.json"
                  }) say: nobody signs them, and they were not compared.`,
                "That the trainer recorded all it did, and did what it recorded.",
              ]}
            />
          </Card>
        </div>
      )}
    </>
  );
}

export const namesOf = (files: File[]) =>
  files.length === 1 ? files[0].name : `${files.length} bundles`;

interface DropProps {
  what?: string; // the kind of file
  several?: boolean;
  take: (files: File[]) => void; // at least one
  children: ComponentChildren;
}
export function Drop({ what = "bundle", several = false, take, children }: DropProps) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const hover = (event: DragEvent, is: boolean) => {
    event.preventDefault();
    setOver(is);
  };
  const taken = (files: FileList | null | undefined) =>
    files?.length && take([...files].slice(0, several ? undefined : 1));
  return (
    <div
      class={`drop ${over ? "over" : ""}`}
      onDragOver={(event) => hover(event, true)}
      onDragLeave={(event) => hover(event, false)}
      onDrop={(event) => {
        hover(event, false);
        taken(event.dataTransfer?.files);
      }}
    >
      {children}
      <input
        ref={input}
        class="hidden"
        type="file"
        multiple={several}
        aria-label={`${what[0].toUpperCase()}${what.slice(1)} file`}
        tabIndex={-1}
        onChange={(event) => {
          taken(event.currentTarget.files);
          event.currentTarget.value = "";
        }}
      />
      <Button onClick={() => input.current?.click()}>
        {several ? `Choose ${what} files` : `Choose a ${what} file`}
      </Button>
    </div>
  );
}

interface KeysProps {
  value: string;
  change: (text: string) => void;
}
// A line that is no key is the reader's slip: it is named here, and no check hears of it.
export const KeysField = ({ value, change }: KeysProps) => (
  <div class="field">
    <label class="field">
      Keys that you got another way, one a line (a log’s or a witness’s verifier key). The checks
      run again with each that is whole.
      <textarea
        rows={2}
        value={value}
        spellcheck={false}
        placeholder="name+12345678+AbCd…"
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
    <div role="status" class="warn-text" data-faults>
      {givenKeys(value).faults.map((fault) => (
        <p key={fault}>{fault} It is not used.</p>
      ))}
    </div>
  </div>
);
