// The JSON of the server: the shapes of the command's --json (`annals dev schema`).

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Info { version: string; store: string; write: boolean; sessions: number }

export interface SessionRow {
  id: string; title: string; directory: string; agent: string; model: string;
  origin: string | null; parent: string | null; fork: Json;
  created: number; updated: number; turns: number; next: number;
  /** Nano-dollars, as recorded; null if nothing is known. */
  cost: number | null;
  /** Nano-dollars that the catalog's prices add. */
  estimated: number;
}
export interface SessionPage { sessions: SessionRow[]; next: string | null; total: number }

export interface Session {
  session: string; title: string; directory: string; model: string; agent: string;
  parent: string | null; children: (string | { id: string; title?: string })[];
  events: number; turns: number; head: Head; running: boolean;
}
export interface Head { seq: number; digest: string }

export interface Turn {
  turn: number;
  /** Its first and last event. */
  first: number; last: number;
  at: number; ended_at: number | null;
  prompt: string; cuts: number[]; error: boolean;
  input_tokens: number | null; output_tokens: number | null; cost: number | null;
  calls: TurnCall[]; marks: Mark[];
}
export interface TurnCall {
  call: string; tool: string; first: number; last: number | null; duration_ms: number | null;
  status: string; title: string | null; child: string | null;
  /** How its command failed, also in a call that the agent completed: `exit 1`. */
  command_failure?: string;
}
export interface Mark { seq: number; kind: string; text: string }
export interface TimelinePage { from: number; turns: Turn[]; next: number | null; total_turns: number; head: Head | number }
/** Events of each kind; of long sessions a part, evenly spread. */
export interface Axis { turns: number[]; errors: number[]; compactions: number[]; epochs: number[]; head: number; error_after: number | null; error_before: number | null }
export interface CutPage { cuts: number[]; next: number | null; total: number }

export interface LogEvent { seq: number; at: number; type: string; [member: string]: Json }
export interface EventPage { events: LogEvent[]; next: number | null }

export interface Fact { seq: number; at: number; kind: string }
export interface Step {
  number: number; seq: number; at: number; recorded: boolean; purpose: string; attempt: number;
  agent: string; model: string; answer: { seq: number; at: number; usage: Usage | null; cost: number | null } | null;
}
export interface Usage { input: number; output: number; reasoning: number; cache_read: number; cache_write: number; cost?: number; unpriced?: number }
export interface Actor { by: string; agent?: string; model?: string; name?: string }
export interface Span {
  part: string; piece: number; sort: string; text: string; actor: Actor; fact: Fact | null;
  turn: number; since: number; key?: string | null; path?: string | null; source?: string | null;
  [member: string]: unknown;
}
export interface Why { step: Step; steps: number; text: string | null; spans: Span[]; of: number; lacks: string[]; characters?: { [sort: string]: number } }

export interface Message { seq: number; at: number; type: string; [member: string]: Json }
export interface Baseline {
  agent: string; cause: string; epoch: number; location: string; seq: number; text: string;
  parts: { [member: string]: Json }[]; blocked?: { seq: number; cause: string; keys: string[] } | null;
}
export interface Epoch { epoch: number; seq: number; cause: string }
export interface RequestRow { number: number; seq: number; at: number; purpose: string; attempt: number; agent: string; model: string; digest: string; proved: boolean | null }
export interface Difference { view: string; path: string; before: Json; after: Json }
export interface Measure { bytes: number; tokens: number; blocks: number }
export interface CacheRow {
  step: Step; whole: Measure; shared: Measure; before: Measure | null; gap_ms: number | null;
  break: { cause: Json; fact: Fact | null; part: string; tokens: number; price: number | null } | null;
  usage: Usage | null;
}
export interface Cache { requests: CacheRow[]; damaged: number; breaks: number; price: number }
export interface Compaction {
  seq: number; ended: number | null; at: number; before: number; after: number; outcome: string; reason: string;
  model: string | null; summary: string | null; messages: number[]; kept: number[]; pinned: number[];
  fidelity: { percent: number; sentences?: { kept: number; of: number; text: string; message: number }[]; [member: string]: Json | undefined } | null;
  unmentioned: { names: string[]; instructions: string[] };
}
export interface Hit { session: string; seq: number; at: number; by: string; line: string; title: string; type: string }
