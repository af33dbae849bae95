// A refused ε is no error: the server's reason, and what would lift it.
import type { ComponentChildren } from "preact";
import { Icon } from "../parts/icon";
import { Code } from "../parts/parts";
import { said } from "../text/names";

interface RefusedProps {
  message: string | undefined;
  code: { code?: string; reason?: string };
  children?: ComponentChildren;
}
export const Refused = ({ message, code, children }: RefusedProps) => (
  <div class="refused">
    <Icon shape="refused" size={28} />
    <div>
      <p class="refused-title">No ε can be given</p>
      <p>{said(message)}</p>
      {/ADAPTIVE/.test(message ?? "") && (
        <p class="muted">
          What would lift it: a filter that is declared before the first event. This ledger can no
          longer declare one; a new ledger can.
        </p>
      )}
      {children}
      <p class="faint">
        <Code of={code} />
      </p>
    </div>
  </div>
);
