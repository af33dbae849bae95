// Asks for the token of who wants to see more.
import { useRef, useState } from "preact/hooks";
import { call, refusals, signIn } from "./api/client";
import { keepSignedIn } from "./api/session";
import { Dialog } from "./parts/dialog";
import { Button } from "./parts/parts";

const NO_COOKIE =
  "This browser keeps no cookie of this server, which it does over HTTPS and on this machine " +
  "alone. You are signed in until you reload.";

export function SignIn({ close, why }: { close: () => void; why: string }) {
  const [wrong, setWrong] = useState(why);
  const input = useRef<HTMLInputElement>(null);
  const keep = useRef<HTMLInputElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const seen = refusals.peek();
    signIn(input.current!.value);
    try {
      await call("LedgerService/ListLedgers", { parent: "projects/-", pageSize: 1 });
    } catch (error) {
      if (refusals.peek() !== seen) {
        signIn("");
        return setWrong(`The server does not know this token: ${(error as Error).message}`);
      }
    }
    if (keep.current!.checked && !(await keepSignedIn())) return setWrong(NO_COOKIE);
    close();
  };
  return (
    <Dialog title="Sign in" close={close}>
      <form onSubmit={submit}>
        <p>
          This server answers only callers that it knows. The token stays in this tab’s memory and
          is gone when you reload, unless you stay signed in.
        </p>
        <label class="field">
          Token
          <input
            ref={input}
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder="dpl_…"
            required
            autofocus
          />
        </label>
        <label class="tick">
          <input ref={keep} type="checkbox" />
          Stay signed in, by a cookie that no script can read, until you sign out or close the
          browser
        </label>
        {wrong && (
          <p class="bad-text" role="alert">
            {wrong}
          </p>
        )}
        {!isSecureContext && (
          <p class="warn-text">
            This page came over plain HTTP: anybody in between can read the token.
          </p>
        )}
        <div class="actions">
          <Button class="button primary" type="submit">
            Sign in
          </Button>
          <Button onClick={close}>Not now</Button>
        </div>
      </form>
    </Dialog>
  );
}
