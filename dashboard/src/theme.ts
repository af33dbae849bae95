// Light, dark, or as the system says; kept in this browser.
import { signal } from "@preact/signals";
import { keep, kept } from "./storage";

type Theme = "system" | "light" | "dark";
const KEY = "theme";
export const theme = signal<Theme>("system");
export function startTheme() {
  const before = kept(KEY);
  if (before === "light" || before === "dark") theme.value = before;
  theme.subscribe((now) => {
    if (now === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    keep(KEY, now === "system" ? undefined : now);
  });
}
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
export const turnTheme = () => (theme.value = NEXT[theme.value]);
