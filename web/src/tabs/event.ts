// One line about an event.
import { dollars, oneLine } from '../format';
import type { Json, LogEvent } from '../types';

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value));

export function brief(event: LogEvent): string {
  const usage = event.usage as { input: number; output: number } | null | undefined;
  const parts: Record<string, () => string> = {
    'session.created': () => `${text(event.agent)} ${text(event.model)}`,
    'tool.called': () => `${text(event.name)} ${text(event.input)}`,
    'tool.settled': () => text(event.error) || text(event.output),
    'step.started': () => text(event.model),
    'step.ended': () => [text(event.finish), usage ? `${usage.input} in, ${usage.output} out` : '', event.cost ? dollars(event.cost as number) : ''].filter(Boolean).join(' · '),
    'step.failed': () => text(event.error),
    'request.sent': () => `${text(event.purpose)} ${text(event.model)}`,
    'epoch.started': () => text(event.cause),
    'compaction.ended': () => text(event.summary),
    'permission.asked': () => `${text(event.action)} ${text(event.resources)}`,
    'permission.replied': () => text(event.reply),
    'session.titled': () => text(event.title),
    'context.admitted': () => text(event.text),
    'input.promoted': () => text(event.input),
  };
  const find = parts[event.type] ?? (() => text(event.text) || text(event.summary) || text(event.reason) || text(event.title));
  return oneLine(find(), 140);
}
