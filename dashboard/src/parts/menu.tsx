// A button that opens a box below it. Esc, and a click or the focus elsewhere, close it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface MenuProps {
  label: ComponentChildren;
  children: ComponentChildren;
}
export function Menu({ label, children }: MenuProps) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const element = box.current!;
    const elsewhere = (event: Event) => {
      if (!element.contains(event.target as Node)) element.open = false;
    };
    const escape = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !element.open) return;
      element.open = false;
      element.querySelector("summary")!.focus();
    };
    for (const kind of ["pointerdown", "focusin"]) document.addEventListener(kind, elsewhere);
    element.addEventListener("keydown", escape);
    return () => {
      for (const kind of ["pointerdown", "focusin"]) document.removeEventListener(kind, elsewhere);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary class="button">{label}</summary>
      <div class="menu-body">{children}</div>
    </details>
  );
}
