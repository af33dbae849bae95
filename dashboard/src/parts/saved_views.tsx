// Views that the reader keeps in this browser by a name of his own, and the address to share: it
// holds all of a view.
import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { addressHere } from "../prefix";
import { place } from "../router";
import { keep, keptList } from "../storage";
import { visible } from "../text/names";
import { Menu } from "./menu";
import { A, Button } from "./parts";

interface View {
  name: string;
  address: string;
}
const KEY = "views";
const isView = (view: Partial<View> | null) =>
  typeof view?.name === "string" && /^\/(?!\/)/.test(view.address ?? "");
const views = signal(keptList<View>(KEY).filter(isView));
function keepViews(list: View[]) {
  views.value = [...list].sort((a, b) => (a.name < b.name ? -1 : 1));
  keep(KEY, list.length ? JSON.stringify(views.value) : undefined);
}

export function SavedViews() {
  const name = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState("");
  const query = place.value.query.toString();
  const address = addressHere() + (query ? `?${query}` : "");
  const others = (one: string) => views.value.filter((view) => view.name !== one);
  const save = (event: Event) => {
    event.preventDefault();
    const given = name.current!.value.trim();
    if (given) keepViews([...others(given), { name: given, address }]);
    name.current!.value = "";
  };
  const copy = () =>
    navigator.clipboard.writeText(location.href).then(
      () => setCopied(location.href),
      () => setCopied(""),
    );
  return (
    <Menu label="Views">
      {views.value.length > 0 && (
        <ul class="flat">
          {views.value.map((view) => (
            <li key={view.name} class="split">
              <A
                exact
                href={view.address}
                aria-current={view.address === address ? "true" : undefined}
              >
                {visible(view.name)}
              </A>
              <Button
                class="link"
                aria-label={`Remove the view ${visible(view.name)}`}
                onClick={() => keepViews(others(view.name))}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
      <form onSubmit={save}>
        <label class="field">
          Keep this view in this browser, by the name
          <input ref={name} maxLength={80} required />
        </label>
        <Button type="submit">Keep</Button>
      </form>
      <p class="footnote">
        The address holds the whole view: filter, order, columns and rows.{" "}
        {isSecureContext && (
          <Button class="link" onClick={copy}>
            {copied === location.href ? "Copied" : "Copy it"}
          </Button>
        )}
      </p>
    </Menu>
  );
}
