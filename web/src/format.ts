// Text of a log made safe to look at, and numbers made short. Nothing here makes HTML.

// Control characters (but tab and line feed), bidirectional controls, invisible and private characters, lone surrogates.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\u{e0000}-\u{e0fff}]/gu;

/** A text with every character that hides, reorders or steers replaced by its code, such as `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (found) => (found === '\r' ? '\\r' : `\\u{${found.codePointAt(0)!.toString(16)}}`));
}

/** The same on one line. */
export function oneLine(text: string, limit = 300): string {
  const start = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return visible(start.replace(/\s+/g, ' ').trim());
}

export const count = (n: number): string => n.toString().replace(/\B(?=(\d{3})+$)/g, ',');

/** 1234 as 1.2k, 5600000 as 5.6M. */
export function brief(n: number | null | undefined): string {
  if (n == null) return '';
  if (n < 1000) return String(n);
  if (n < 999_950) return `${trim(n / 1000)}k`;
  return `${trim(n / 1e6)}M`;
}
const trim = (n: number) => (n < 10 ? n.toFixed(1).replace(/\.0$/, '') : Math.round(n).toString());

/** Nano-dollars as dollars; empty if unknown. */
export function dollars(nano: number | null | undefined): string {
  if (nano == null) return '';
  const value = nano / 1e9;
  if (value === 0) return '$0';
  return value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

export function duration(ms: number | null | undefined): string {
  if (ms == null) return '';
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} m ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} m`;
}

const two = (n: number) => String(n).padStart(2, '0');
/** 2026-11-24 04:20, in the time of the reader. */
export function day(ms: number): string {
  const t = new Date(ms);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}`;
}
export function clock(ms: number): string {
  const t = new Date(ms);
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}
/** How long ago: 5 m, 3 h, 12 d. */
export function ago(ms: number, now: number): string {
  const s = Math.max(0, Math.round((now - ms) / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export const short = (id: string): string => (id.length > 12 ? `…${id.slice(-8)}` : id);
export const plural = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
