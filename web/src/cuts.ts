// Moving between Cuts. A Cut is the number of events that lie before it.
import type { Turn } from './types';

/** The Cuts of one stretch of a session: all of them from `from` up to, but not including, `to`. */
export interface Window { from: number; to: number; cuts: number[] }

/** The index of the first item that is at least `value`. */
export function lowerBound(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The Cut `step` places after `at` (before it if negative); null if the window does not know it. */
export function stepped(window: Window, at: number, step: number): number | null {
  if (at < window.from || at > window.to) return null;
  const index = lowerBound(window.cuts, at);
  const exact = window.cuts[index] === at;
  const wanted = step > 0 ? index + step - (exact ? 0 : 1) : index + step;
  return window.cuts[wanted] ?? null;
}

/** The Cut nearest to a place that may lie inside of a Batch. */
export function nearest(cuts: readonly number[], at: number): number | null {
  const index = lowerBound(cuts, at);
  const after = cuts[index];
  const before = cuts[index - 1];
  if (after === undefined) return before ?? null;
  if (before === undefined) return after;
  return after - at <= at - before ? after : before;
}

/** The turn that a Cut is in: the last one that began before it. */
export function turnAt(turns: readonly Turn[], at: number): Turn | null {
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (turns[middle]!.first < at) low = middle + 1;
    else high = middle;
  }
  return turns[low - 1] ?? null;
}

/** The Cuts right after each error of these turns, in order. */
export function errorsOf(turns: readonly Turn[]): number[] {
  const found = new Set<number>();
  for (const turn of turns) {
    for (const call of turn.calls) if (failed(call.status)) found.add((call.last ?? call.first) + 1);
    for (const mark of turn.marks) if (mark.kind === 'error') found.add(mark.seq + 1);
    if (turn.error && !turn.calls.some((call) => failed(call.status)) && !turn.marks.some((mark) => mark.kind === 'error')) found.add(turn.last + 1);
  }
  return [...found].sort((a, b) => a - b);
}

export const failed = (status: string): boolean => status !== 'completed' && status !== 'running' && status !== 'pending';
