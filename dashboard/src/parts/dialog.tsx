// A dialog over the view, or a drawer beside it. Esc closes it; the focus goes back to where it
// was.
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";

export function Dialog({
  title,
  drawer,
  close,
  children,
}: {
  title: string;
  drawer?: boolean;
  close: () => void;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const element = box.current!;
    element.showModal();
    return () => {
      element.close();
      before?.focus?.();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    close();
  };
  return (
    <dialog
      ref={box}
      class={drawer ? "drawer" : "dialog"}
      aria-label={title}
      onCancel={cancel}
      onClick={(event) => event.target === box.current && close()}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={close}>
            ×
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
