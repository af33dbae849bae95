// Light, dark, or as the system says; kept in this browser.
import { signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";
const KEY = "dpledger.theme";
export const theme = signal<Theme>("system");
export function startTheme() {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === "light" || kept === "dark") theme.value = kept;
  } catch {
    // A browser that keeps nothing.
  }
  theme.subscribe((now) => {
    if (now === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    try {
      if (now === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, now);
    } catch {
      // As above.
    }
  });
}
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
export const turnTheme = () => (theme.value = NEXT[theme.value]);
