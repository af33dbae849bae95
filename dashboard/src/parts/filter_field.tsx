// A field for a filter: it offers what may stand next, marks the part that the server calls wrong,
// and explains the language.
import { useRef, useState } from "preact/hooks";
import { visible } from "../text/names";
import { completions, FIELDS, KINDS, type Fault } from "../text/filter";
import { Button } from "./parts";
import { Menu } from "./menu";

const MOST_OFFERED = 8;
const EXAMPLES = [
  'dataset = "adult" AND epsilon > 1',
  "refused:* OR conflicts > 0 OR corrections > 0",
  "state = OPEN AND last_entry_time < 2026-01-01",
  "NOT (creator:anna) AND remaining < 0.2",
];

const ruleText = (wrong: string, rule: string) =>
  rule.startsWith("must")
    ? `${wrong ? "The marked part" : "At its end there"} ${rule}`
    : rule.replace(/^./, (letter) => letter.toUpperCase());
const Wrong = ({ of: { before, wrong, after, rule } }: { of: Fault }) => (
  <div class="filter-fault" role="alert" id="filter-fault">
    <code>
      {visible(before)}
      <mark>{visible(wrong) || "▯"}</mark>
      {visible(after)}
    </code>
    <p>{visible(ruleText(wrong, rule))}.</p>
  </div>
);

interface FilterProps {
  value: string;
  id?: string;
  change: (text: string) => void;
  fault?: Fault;
  known?: (field: string) => string[];
  lookUp?: (field: string, typed: string) => void; // for `known` to have more the next time
}
export function FilterField({ value, id = "filter", change, fault, known, lookUp }: FilterProps) {
  const input = useRef<HTMLInputElement>(null);
  const [at, setAt] = useState<number | undefined>(); // the cursor, while something is offered
  const [active, setActive] = useState(-1);
  const { from, to, choices } = completions(value, at ?? 0, known);
  const offered = at === undefined ? [] : choices.slice(0, MOST_OFFERED);
  const look = () => {
    const { value, selectionStart } = input.current!;
    completions(value, selectionStart ?? 0, (field, typed) => (lookUp?.(field, typed), []));
    setAt(selectionStart ?? undefined);
    setActive(-1);
  };
  const take = (choice: string) => {
    const whole = choice === ":" ? choice : `${choice} `; // text follows a colon at once
    const text = value.slice(0, from) + whole + value.slice(to).trimStart();
    const cursor = from + whole.length;
    const element = input.current!;
    change(text);
    // At once: the next letter may come before the field is drawn anew.
    element.value = text;
    element.focus();
    element.setSelectionRange(cursor, cursor);
    setAt(cursor);
    setActive(-1);
  };
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && offered.length) {
      event.preventDefault();
      setAt(undefined);
    } else if (step && offered.length) {
      event.preventDefault();
      setActive(
        (active + step + offered.length + (active < 0 && step < 0 ? 1 : 0)) % offered.length,
      );
    } else if ((event.key === "Enter" || event.key === "Tab") && offered[active]) {
      event.preventDefault();
      take(offered[active]);
    }
  };
  return (
    <div class="filter-field">
      <input
        ref={input}
        id={id}
        type="text"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={offered.length > 0}
        aria-controls={`${id}-offered`}
        aria-activedescendant={offered[active] ? `${id}-${active}` : undefined}
        aria-invalid={!!fault}
        aria-describedby={fault && "filter-fault"}
        value={value}
        onInput={(event) => {
          change(event.currentTarget.value);
          look();
        }}
        onClick={look}
        onKeyDown={keys}
        onBlur={() => setAt(undefined)}
        placeholder={EXAMPLES[0]}
        spellcheck={false}
        autocomplete="off"
        maxLength={4096}
      />
      <ul class="offered" id={`${id}-offered`} role="listbox" aria-label="What may stand next">
        {offered.map((choice, i) => (
          <li
            key={choice}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === active}
            onPointerDown={(event) => {
              event.preventDefault();
              take(choice);
            }}
          >
            <code>{visible(choice)}</code> <small>{FIELDS[choice]?.about}</small>
          </li>
        ))}
      </ul>
      {fault && <Wrong of={fault} />}
    </div>
  );
}

export const FilterHelp = ({ take }: { take: (filter: string) => void }) => (
  <Menu label="How to filter">
    <h3>Examples</h3>
    <ul class="flat">
      {EXAMPLES.map((example) => (
        <li key={example}>
          <Button class="link" onClick={() => take(example)}>
            <code>{example}</code>
          </Button>
        </li>
      ))}
    </ul>
    <p class="muted">
      Join with <code>AND</code>, <code>OR</code>, <code>NOT</code> and parentheses.{" "}
      <code>field:*</code> holds where there is such a value. Text with blanks stands in quotation
      marks.
    </p>
    <h3>Fields</h3>
    <dl class="fields">
      {Object.entries(FIELDS).map(([name, { kind, about, values }]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            {about} <small>{values ? values.join(", ") : KINDS[kind]}</small>
          </dd>
        </div>
      ))}
    </dl>
  </Menu>
);
