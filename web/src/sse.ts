// Server-sent events read from a fetch, which can send the token in a header; EventSource cannot.

export interface SseMessage { id: string | null; event: string; data: string }

/** Cuts a stream of text into messages. Lines may end in any of the three ways and anywhere between two chunks. */
export class SseParser {
  private rest = '';
  private id: string | null = null;
  private event = '';
  private data: string[] = [];

  push(chunk: string): SseMessage[] {
    this.rest += chunk;
    const messages: SseMessage[] = [];
    for (;;) {
      const end = this.rest.search(/[\r\n]/);
      // A carriage return at the end may be the first half of a line's end.
      if (end < 0 || (this.rest[end] === '\r' && end === this.rest.length - 1)) return messages;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith('\r\n', end) ? 2 : 1));
      const message = this.line(line);
      if (message) messages.push(message);
    }
  }

  private line(line: string): SseMessage | null {
    if (line === '') {
      const message = this.data.length ? { id: this.id, event: this.event || 'message', data: this.data.join('\n') } : null;
      this.event = '';
      this.data = [];
      return message;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.data.push(value);
    else if (name === 'event') this.event = value;
    else if (name === 'id' && !value.includes('\0')) this.id = value;
    return null;
  }
}
