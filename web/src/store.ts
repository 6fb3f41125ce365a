// What the page knows of one session: its pages of turns and Cuts, loaded as they are needed.
import { of, type Api } from './api';
import { lowerBound, stepped, type Window } from './cuts';
import type { Axis, CutPage, Head, Session, TimelinePage, Turn } from './types';

const PAGE = 64;
const CUTS = 512;
/** A place after every event. */
const END = Number.MAX_SAFE_INTEGER;
/** How many turns of a sub-agent are shown in its call at most. */
const NESTED = 20;

export class SessionStore {
  session: Session | null = null;
  /** The Cut that is looked at first, once the session is open: its end, or that of the link. */
  start = 0;
  /** By index; holes are not loaded yet. */
  turns: (Turn | undefined)[] = [];
  total = 0;
  head: Head = { seq: 0, digest: '' };
  version = 0;
  axis: Axis | null = null;
  /** The turns of sub-agents that are shown in their calls, by session; null while they are loaded. */
  readonly nested = new Map<string, Turn[] | null>();
  private window: Window = { from: 0, to: -1, cuts: [] };
  private pending = new Map<number, Promise<void>>();
  /** The page with the turn of a Cut, while it is loaded. */
  private reaching: { at: number; page: Promise<TimelinePage> } | null = null;
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

  /**
   * Opens the session at the place of a link, or at its end. The turns there and the Cuts around it are asked for at the same time.
   * `opened` is called with the place before anything is drawn.
   */
  async open(wanted: number | null, opened?: (start: number) => void): Promise<void> {
    this.reaching = { at: END, page: this.reached(wanted ?? END) };
    this.reaching.page.catch(() => {});
    const cuts = wanted === null ? null : this.cuts(wanted).catch(() => null);
    const session = await this.api.get<Session>(of(this.id));
    this.took(session);
    this.start = this.head.seq;
    if (wanted !== null && wanted < this.head.seq) {
      const page = await cuts;
      if (page) this.surrounded(page);
      this.start = await this.snap(wanted).catch(() => wanted);
    }
    if (this.reaching) this.reaching.at = this.start;
    this.session = session;
    opened?.(this.start);
    this.changed();
  }

  private took(session: Session): void {
    this.head = session.head;
    this.total = session.turns;
  }

  /** Loads where everything is on the axis. */
  async sketch(): Promise<void> {
    this.axis = await this.api.get<Axis>(of(this.id, '/axis'));
    this.changed();
  }

  /** Loads the page of turns that holds this index, once. */
  page(index: number): Promise<void> {
    const start = Math.floor(index / PAGE) * PAGE;
    const known = this.pending.get(start);
    if (known) return known;
    const loading = this.api
      .get<TimelinePage>(of(this.id, '/timeline'), { from: start, limit: PAGE })
      .then((page) => this.loadedTurns(page, start))
      .catch((error: unknown) => {
        this.pending.delete(start);
        throw error;
      });
    this.pending.set(start, loading);
    return loading;
  }

  private loadedTurns(page: TimelinePage, start: number): void {
    page.turns.forEach((turn, at) => (this.turns[start + at] = turn));
    this.total = page.total_turns;
    this.changed();
  }

  /** Shows the turns of a sub-agent in its call, or hides them. */
  nest(child: string): void {
    if (this.nested.delete(child)) return this.changed();
    this.nested.set(child, null);
    this.changed();
    this.api.get<TimelinePage>(of(child, '/timeline'), { from: 0, limit: NESTED }).then(
      (page) => this.nested.has(child) && this.nested.set(child, page.turns),
      () => this.nested.delete(child),
    ).then(() => this.changed());
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

  /** Loads the turn of a Cut. */
  async reach(at: number): Promise<number> {
    if (this.total === 0) return -1;
    const known = Math.max(0, this.indexAt(at));
    const turn = this.turns[known];
    const next = this.turns[known + 1];
    if (turn && (turn.first < at || known === 0) && (known + 1 >= this.total || (next && next.first >= at))) return known;
    if (this.reaching?.at !== at) this.reaching = { at, page: this.reached(at) };
    const { page } = this.reaching;
    try {
      return Math.max((await page).from, this.indexAt(at));
    } finally {
      if (this.reaching?.page === page) this.reaching = null;
    }
  }

  private async reached(at: number): Promise<TimelinePage> {
    const page = await this.api.get<TimelinePage>(of(this.id, '/timeline'), { at, limit: PAGE });
    this.pending.set(page.from, Promise.resolve());
    this.loadedTurns(page, page.from);
    return page;
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

  private cuts(at: number): Promise<CutPage & { from: number }> {
    const from = Math.max(0, at - CUTS / 2);
    return this.api.get<CutPage>(of(this.id, '/cuts'), { from, limit: CUTS }).then((page) => ({ ...page, from }));
  }

  private async around(at: number): Promise<void> {
    this.surrounded(await this.cuts(at));
  }

  private surrounded(page: CutPage & { from: number }): void {
    const { from } = page;
    const last = page.cuts[page.cuts.length - 1] ?? from;
    const window = { from, to: page.next === null ? Math.max(this.head.seq, last) : last, cuts: page.cuts };
    if (window.to === this.head.seq && page.next === null && last < this.head.seq) window.cuts.push(this.head.seq);
    this.window = window;
  }

  /** The Cut right after the next error (the one before, if backwards); null if there is none. */
  async error(at: number, backwards = false): Promise<number | null> {
    const axis = await this.api.get<Axis>(of(this.id, '/axis'), { at });
    const found = backwards ? axis.error_before : axis.error_after;
    return found === null ? null : this.snap(found);
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
    this.session = await this.api.get<Session>(of(this.id));
    this.took(this.session);
    this.changed();
    for (const start of [...this.pending.keys()]) if (start + PAGE >= before) this.pending.delete(start);
    if (this.window.to >= 0) this.window = { from: 0, to: -1, cuts: [] };
    await this.page(Math.max(0, before - 1));
    if (this.total > before) await this.page(this.total - 1);
    await this.sketch();
  }
}
