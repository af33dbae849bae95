// What every view is made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CallError } from "../api/client";
import type { Called } from "../api/use_call";
import { urlOf } from "../prefix";
import { go, keeping } from "../router";
import { visible } from "../text/names";
import { ageWords } from "../text/dates";
import { Icon, type Shape, type Tone } from "./icon";

// A link keeps how the present view is looked at, unless it is `exact`.
type Link = JSX.AnchorHTMLAttributes<HTMLAnchorElement> & { exact?: boolean };
export function A({ href, exact, ...rest }: Link) {
  const to = exact ? String(href) : keeping(String(href));
  const follow = (event: MouseEvent) => {
    if (event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return <a href={urlOf(to)} onClick={follow} {...rest} />;
}
export const Button = (props: JSX.ButtonHTMLAttributes<HTMLButtonElement>) => (
  <button type="button" class="button" {...props} />
);

// Nothing where the browser has no clipboard.
export function Copy({ of: text }: { of: string }) {
  const [copied, setCopied] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      () => setCopied(""),
    );
  if (!isSecureContext) return null;
  return (
    <Button class="link" onClick={copy}>
      {copied === text ? "Copied" : "Copy"}
    </Button>
  );
}

export function Title({
  trail,
  title,
  about,
  chips,
  actions,
}: {
  trail?: ComponentChildren;
  title: ComponentChildren;
  about?: ComponentChildren;
  chips?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <header class="title">
      <div class="title-words">
        {trail && (
          <nav class="trail" aria-label="Where this is">
            {trail}
          </nav>
        )}
        <h1 tabIndex={-1}>{title}</h1>
        {about && <p class="about">{about}</p>}
        {chips && <div class="chips">{chips}</div>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </header>
  );
}

interface Titled {
  title?: ComponentChildren;
  side?: ComponentChildren;
  children: ComponentChildren;
}
const Head = ({ class: kind, title, side }: Omit<Titled, "children"> & { class: string }) => (
  <div class={kind}>
    <h2>{title}</h2>
    {side && <div class="side">{side}</div>}
  </div>
);
export function Card({
  title,
  side,
  children,
  class: more = "",
  flush,
}: Titled & { class?: string; flush?: boolean }) {
  return (
    <section class={`card ${flush ? "flush" : ""} ${more}`}>
      {title && <Head class="card-head" title={title} side={side} />}
      {children}
    </section>
  );
}
export const Section = ({ title, side, children }: Titled) => (
  <section class="section">
    <Head class="section-head" title={title} side={side} />
    {children}
  </section>
);

type Fact = [name: ComponentChildren, value: ComponentChildren];
export const Facts = ({ rows }: { rows: (Fact | false | undefined | "")[] }) => (
  <dl class="facts">
    {rows.map(
      (row, i) =>
        row && (
          <div key={i}>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </div>
        ),
    )}
  </dl>
);

export const List = ({ of: lines }: { of: ComponentChildren[] }) => (
  <ul class="bullets">
    {lines.filter(Boolean).map((line, i) => (
      <li key={i}>{line}</li>
    ))}
  </ul>
);

export interface Column {
  label: string;
  head?: ComponentChildren; // in place of the label, where the table has a head
  class?: string;
  width?: number; // in pixels, and its share of what is left
  sort?: "ascending" | "descending";
}
// A cell that has no room for all of its text says it in its title.
function showWhole({ target }: Event) {
  const cell = (target as HTMLElement).closest<HTMLElement>(".line");
  if (cell && cell.scrollWidth > cell.clientWidth) cell.title = cell.innerText;
}
// Values stand under their column's head, and behind its label where the screen is narrow. The last
// of fewer cells than columns is as wide as the rest. Rows of the class "lines", which may have a
// second one behind it, are of one line.
export function Table({
  class: kindOfTable = "",
  columns,
  rows,
}: {
  class?: string;
  columns: (string | Column)[];
  rows: { key: string | number | undefined; cells: ComponentChildren[] }[];
}) {
  const all = columns.map((one): Column => (typeof one === "string" ? { label: one } : one));
  return (
    <div class="card flush">
      <table class={`rows ${kindOfTable}`} onPointerOver={showWhole}>
        <thead>
          <tr>
            {all.map((one) => (
              <th
                key={one.label}
                scope="col"
                class={one.class}
                aria-sort={one.sort}
                style={{ width: one.width }}
              >
                {one.head ?? one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, i) => {
                const span = i === cells.length - 1 ? all.length - i : 1;
                const { label, class: kind } = all[i];
                return (
                  <td key={i} data-label={label} class={span > 1 ? "" : kind} colSpan={span}>
                    {kindOfTable.startsWith("lines") ? <div class="line">{cell}</div> : cell}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Notice({
  shape,
  tone,
  title,
  children,
  action,
}: {
  shape: Shape;
  tone: Tone;
  title: ComponentChildren;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class={`notice ${tone}`}>
      <Icon shape={shape} />
      <div class="notice-words">
        <strong>{title}</strong>
        {children && <div class="notice-more">{children}</div>}
      </div>
      {action && <div class="notice-action">{action}</div>}
    </div>
  );
}

export const Code = ({ of: { code, reason } }: { of: { code?: string; reason?: string } }) => (
  <code>{[code, reason].filter(Boolean).join(" ")}</code>
);
const NEXT: Record<string, string> = {
  unavailable: "Is the server running? This page asks again by itself.",
  unauthenticated: "Sign in with a token that this server made.",
  permission_denied: "Ask whoever administers the server for a grant.",
  not_found: "Check the name. Ledgers are never deleted, but a store may have been changed.",
  deadline_exceeded: "The server may be busy. Ask again, or ask for less.",
};
// What failed, what is still true, what to do; the code in small.
export function Failed({
  error,
  what,
  since,
  again,
}: {
  error: CallError;
  what: string;
  since?: number;
  again?: () => void;
}) {
  if (error.code === "canceled") return null;
  const nobody = error.code === "unauthenticated"; // which is a question, and no failure
  const ask = again && (
    <Button class="link" onClick={again}>
      Ask again
    </Button>
  );
  return (
    <div role="alert">
      <Notice
        shape={nobody ? "unknown" : "refused"}
        tone={nobody ? "plain" : "bad"}
        title={`${nobody ? "Sign in to see" : "Could not get"} ${what}`}
        action={ask}
      >
        {!nobody && <p>{visible(error.message)}</p>}
        {since ? <p>Shown is what came {ageWords(since, Date.now())}.</p> : null}
        <p class="faint">
          {NEXT[error.code] ?? ""} <Code of={error} />
        </p>
      </Notice>
    </div>
  );
}

// After 300 ms, so that what comes at once does not flicker.
export function Loading({ what }: { what: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="loading" role="status">
      {late && (
        <>
          <span class="bar" />
          Asking for {what}
        </>
      )}
    </div>
  );
}
// What stands above the answer of a call, or in its place: that it failed, or is not there yet.
export function Awaited({ of: { data, error, received, again }, what }: AwaitedProps) {
  if (error) return <Failed error={error} what={what} since={received} again={again} />;
  return data ? null : <Loading what={what} />;
}
interface AwaitedProps {
  of: Called<unknown>;
  what: string;
}

export const Empty = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <div class="empty">
    <Icon shape="unknown" size={22} />
    <strong>{title}</strong>
    <div>{children}</div>
  </div>
);
export const Progress = ({ of: done, total, label }: ProgressProps) => (
  <div
    class="progress"
    role="progressbar"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={total}
    aria-valuenow={done}
  >
    <span style={`width:${(100 * done) / Math.max(1, total)}%`} />
  </div>
);
interface ProgressProps {
  of: number;
  total: number;
  label: string;
}

export function Hash({ of: text, length = 64 }: { of: string; length?: number }) {
  const groups = text.slice(0, length).match(/.{1,16}/g) ?? [];
  return (
    <code class="hash" title={text}>
      {groups.map((group, i) => (
        <span key={i}>
          {group}
          {i === groups.length - 1 && length < text.length ? "…" : ""}
          <wbr />
        </span>
      ))}
    </code>
  );
}
