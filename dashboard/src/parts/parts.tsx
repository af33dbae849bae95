// What every view is made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CallError } from "../api/client";
import { go } from "../router";
import { visible } from "../text/names";
import { ageWords } from "../text/time";
import { Icon, type Shape, type Tone } from "./icon";

export function A({ href, ...rest }: JSX.AnchorHTMLAttributes<HTMLAnchorElement>) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(String(href));
  };
  return <a href={href} onClick={follow} {...rest} />;
}

export function Title({ trail, title, about, chips, actions }:
  { trail?: ComponentChildren; title: ComponentChildren; about?: ComponentChildren; chips?: ComponentChildren; actions?: ComponentChildren }) {
  return <header class="title">
    <div class="title-words">
      {trail && <nav class="trail" aria-label="Where this is">{trail}</nav>}
      <h1 tabIndex={-1}>{title}</h1>
      {about && <p class="about">{about}</p>}
      {chips && <div class="chips">{chips}</div>}
    </div>
    {actions && <div class="actions">{actions}</div>}
  </header>;
}

export function Card({ title, side, children, class: more = "", flush }:
  { title?: ComponentChildren; side?: ComponentChildren; children: ComponentChildren; class?: string; flush?: boolean }) {
  return <section class={`card ${flush ? "flush" : ""} ${more}`}>
    {title && <div class="card-head"><h2>{title}</h2>{side && <div class="side">{side}</div>}</div>}
    {children}
  </section>;
}
export function Section({ title, side, children }: { title: ComponentChildren; side?: ComponentChildren; children: ComponentChildren }) {
  return <section class="section"><div class="section-head"><h2>{title}</h2>{side && <div class="side">{side}</div>}</div>{children}</section>;
}

export function Facts({ rows }: { rows: [ComponentChildren, ComponentChildren][] }) {
  return <dl class="facts">{rows.map(([name, value], i) => <div key={i}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

export function Notice({ shape, tone, title, children, action }:
  { shape: Shape; tone: Tone; title: ComponentChildren; children?: ComponentChildren; action?: ComponentChildren }) {
  return <div class={`notice ${tone}`}>
    <Icon shape={shape} />
    <div class="notice-words"><strong>{title}</strong>{children && <div class="notice-more">{children}</div>}</div>
    {action && <div class="notice-action">{action}</div>}
  </div>;
}

const NEXT: Record<string, string> = {
  unavailable: "Is the server running? This page asks again by itself.",
  unauthenticated: "Sign in with a token that this server made.",
  permission_denied: "Ask whoever administers the server for a grant.",
  not_found: "Check the name. Ledgers are never deleted, but a store may have been changed.",
  deadline_exceeded: "The server may be busy. Ask again, or ask for less.",
  unimplemented: "This server is older than this page, or this part of it is off.",
};
// What failed, what is still true, what to do; the code in small.
export function Failed({ error, what, since, again }: { error: CallError; what: string; since?: number; again?: () => void }) {
  if (error.code === "canceled") return null;
  const missing = error.code === "unimplemented";
  return <div role="alert"><Notice shape={missing ? "unknown" : "refused"} tone={missing ? "plain" : "bad"}
    title={missing ? `This server does not have the call for ${what}` : `Could not get ${what}`}
    action={again && !missing && <button type="button" class="link" onClick={again}>Ask again</button>}>
    <p>{visible(error.message)}</p>
    {since ? <p>Shown is what came {ageWords(since, Date.now())}.</p> : null}
    <p class="faint">{NEXT[error.code] ?? ""} <code>{error.code}{error.reason && ` ${error.reason}`}</code></p>
  </Notice></div>;
}

// After 300 ms, so that what comes at once does not flicker.
export function Loading({ what }: { what: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return <div class="loading" role="status">{late && <><span class="bar" />Asking for {what}</>}</div>;
}
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return <div class="empty"><Icon shape="unknown" size={22} /><strong>{title}</strong><div>{children}</div></div>;
}

export function Hash({ of: text, length = 64 }: { of: string; length?: number }) {
  const groups = text.slice(0, length).match(/.{1,16}/g) ?? [];
  return <code class="hash" title={text}>{groups.map((group, i) => <span key={i}>{group}{i === groups.length - 1 && length < text.length ? "…" : ""}<wbr /></span>)}</code>;
}

export function download(name: string, type: string, content: BlobPart) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export { csvOf } from "./csv";
