// State is told by a shape and a word, never by colour alone.
import type { ComponentChildren, JSX } from "preact";

export type Shape = "held" | "attend" | "refused" | "unknown" | "open" | "sealed";
const LINES: Record<Shape, JSX.Element> = {
  held: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="m5.4 8.2 1.8 1.8 3.4-3.8" />
    </>
  ),
  attend: (
    <>
      <path d="M8 2.2 14.3 13.4H1.7z" />
      <path d="M8 6.4v3.2M8 11.4v.1" />
    </>
  ),
  refused: (
    <>
      <path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z" />
      <path d="m6 6 4 4m0-4-4 4" />
    </>
  ),
  unknown: (
    <>
      <circle cx="8" cy="8" r="6" stroke-dasharray="2 1.77" stroke-linecap="butt" />
      <path d="M5.6 8h4.8" />
    </>
  ),
  open: (
    <>
      <circle cx="8" cy="8" r="6" />
      <circle cx="8" cy="8" r="1.9" class="solid" />
    </>
  ),
  sealed: (
    <>
      <rect x="3.2" y="7" width="9.6" height="6.6" rx="1.4" />
      <path d="M5.2 7V5.2a2.8 2.8 0 0 1 5.6 0V7" />
    </>
  ),
};
export const Icon = ({ shape, size = 16 }: { shape: Shape; size?: number }) => (
  <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
    {LINES[shape]}
  </svg>
);
export type Tone = "held" | "warn" | "bad" | "plain" | "info";
interface ChipProps {
  shape: Shape;
  tone?: Tone;
  title?: string;
  children: ComponentChildren;
}
export const Chip = ({ shape, tone = "plain", title, children }: ChipProps) => (
  <span class={`chip ${tone}`} title={title}>
    <Icon shape={shape} size={14} />
    {children}
  </span>
);
