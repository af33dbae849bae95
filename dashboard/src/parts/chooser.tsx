// A field for a name, with what the server found of it so far as options.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface ChooserProps {
  label: string;
  value: string;
  change: (text: string) => void;
  children: ComponentChildren; // <option>s
}
export function Chooser({ label, value, change, children }: ChooserProps) {
  const id = useId();
  return (
    <>
      <label class="field">
        {label}
        <input
          list={id}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
          spellcheck={false}
          autocomplete="off"
        />
      </label>
      <datalist id={id}>{children}</datalist>
    </>
  );
}
