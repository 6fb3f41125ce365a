// What the page knows of one session: its pages of turns and Cuts, loaded as they are needed.
import { of, type Api } from './api';
import { errorsOf, lowerBound, stepped, type Window } from './cuts';
import type { CutPage, Head, Session, TimelinePage, Turn } from './types';

const PAGE = 200;
const CUTS = 512;

export class SessionStore {
  session: Session | null = null;
  /** By index; holes are not loaded yet. */
  turns: (Turn | undefined)[] = [];
  total = 0;
  head: Head = { seq: 0, digest: '' };
  version = 0;
  private window: Window = { from: 0, to: -1, cuts: [] };
  private pending = new Map<number, Promise<void>>();
  private listeners = new Set<() => void>();

  constructor(private readonly api: Api, readonly id: string) {}

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private changed(): void {
    this.version++;
    for (const listener of this.listeners) listener();
  }

  async open(): Promise<Session> {
    this.session = await this.api.get<Session>(of(this.id));
    this.head = this.session.head;
    this.total = this.session.turns;
    this.changed();
    return this.session;
  }

  /** Loads the page of turns that holds this index, once. */
  page(index: number): Promise<void> {
    const start = Math.floor(index / PAGE) * PAGE;
    const known = this.pending.get(start);
    if (known) return known;
    const loading = this.api
      .get<TimelinePage>(of(this.id, '/timeline'), { from: start, limit: PAGE })
      .then((page) => {
        page.turns.forEach((turn, at) => (this.turns[start + at] = turn));
        this.total = page.total_turns;
        this.changed();
      })
      .catch((error: unknown) => {
        this.pending.delete(start);
        throw error;
      });
    this.pending.set(start, loading);
    return loading;
  }

  /** The turns that are loaded without a hole around a place. */
  loaded(): Turn[] {
    return this.turns.filter((turn): turn is Turn => turn !== undefined);
  }

  /** The index of the turn that a Cut is in, by what is loaded. */
  indexAt(at: number): number {
    let found = -1;
    // Holes are skipped by forEach.
    this.turns.forEach((turn, index) => {
      if (turn && turn.first < at) found = index;
    });
    return found;
  }

  /** Loads the turn of a Cut: guesses its page by the share of events, and corrects. */
  async reach(at: number): Promise<number> {
    if (this.total === 0) return -1;
    let low = 0;
    let high = this.total - 1;
    let guess = Math.min(high, Math.floor((at / Math.max(1, this.head.seq)) * this.total));
    while (low < high) {
      await this.page(guess);
      const turn = this.turns[guess];
      if (!turn) break;
      const next = this.turns[guess + 1];
      if (turn.first >= at && guess > 0) high = guess - 1;
      else if (guess + 1 < this.total && next && next.first < at) low = guess + 1;
      else if (guess + 1 < this.total && !next) {
        await this.page(guess + 1);
        if ((this.turns[guess + 1]?.first ?? Infinity) < at) low = guess + 1;
        else return guess;
      } else return guess;
      guess = (low + high) >> 1;
    }
    await this.page(low);
    return low;
  }

  /** The Cut `step` places away. */
  async step(at: number, step: number): Promise<number> {
    const known = stepped(this.window, at, step);
    if (known !== null) {
      const edge = step > 0 ? this.window.to - known : known - this.window.from;
      if (edge < 64 && (step > 0 ? this.window.to < this.head.seq : this.window.from > 0)) void this.around(known);
      return known;
    }
    await this.around(at);
    return stepped(this.window, at, step) ?? (step > 0 ? Math.max(at, this.head.seq) : Math.min(at, this.window.cuts[0] ?? 0));
  }

  /** The Cut nearest to an event, for drags that end inside of a Batch. */
  async snap(at: number): Promise<number> {
    if (at >= this.head.seq) return this.head.seq;
    if (at < this.window.from || at > this.window.to) await this.around(at);
    const { cuts } = this.window;
    const index = lowerBound(cuts, at);
    return cuts[index] ?? cuts[index - 1] ?? this.head.seq;
  }

  private async around(at: number): Promise<void> {
    const from = Math.max(0, at - CUTS / 2);
    const page = await this.api.get<CutPage>(of(this.id, '/cuts'), { from, limit: CUTS });
    const last = page.cuts[page.cuts.length - 1] ?? from;
    const window = { from, to: page.next === null ? Math.max(this.head.seq, last) : last, cuts: page.cuts };
    if (window.to === this.head.seq && page.next === null && last < this.head.seq) window.cuts.push(this.head.seq);
    this.window = window;
  }

  /** The Cut right after the next error (the one before, if backwards); null if there is none. */
  async error(at: number, backwards = false): Promise<number | null> {
    let index = Math.max(0, await this.reach(at));
    for (;;) {
      await this.page(index);
      const start = Math.floor(index / PAGE) * PAGE;
      const turns = this.turns.slice(start, start + PAGE).filter((turn): turn is Turn => turn !== undefined);
      const errors = errorsOf(turns);
      const found = backwards ? errors.filter((seq) => seq < at).pop() : errors.find((seq) => seq > at);
      if (found !== undefined) return this.snap(found);
      index = backwards ? start - 1 : start + PAGE;
      if (index < 0 || index >= this.total) return null;
    }
  }

  /** The end of the turn `step` turns away: what the model had answered by then. */
  async turn(at: number, step: number): Promise<number> {
    const index = await this.reach(at);
    const here = this.turns[index];
    if (!here) return at;
    // A turn may begin with several events that were written together.
    const start = step < 0 ? await this.snap(here.first + 1) : at;
    if (at > start) return start;
    const wanted = Math.min(this.total - 1, Math.max(0, index + step));
    await this.page(wanted);
    const turn = this.turns[wanted];
    if (!turn || (wanted === index && step > 0)) return this.head.seq;
    return this.snap(turn.first + 1);
  }

  /** Takes up what was appended since: forgets what may have changed. */
  async grown(): Promise<void> {
    const before = this.total;
    await this.open();
    for (const start of [...this.pending.keys()]) if (start + PAGE >= before) this.pending.delete(start);
    if (this.window.to >= 0) this.window = { from: 0, to: -1, cuts: [] };
    await this.page(Math.max(0, before - 1));
    if (this.total > before) await this.page(this.total - 1);
  }
}
