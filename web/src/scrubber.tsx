// One axis from the first to the last event, and the Cut that is looked at.
import { useEffect, useRef } from 'preact/hooks';
import { failed } from './cuts';
import { clock, count, oneLine, plural } from './format';
import type { Axis, Turn } from './types';

interface Props {
  at: number;
  head: number;
  mark: number | null;
  turns: readonly Turn[];
  axis: Axis | null;
  version: number;
  turn: Turn | null;
  /** Called while dragging, with any event number. */
  drag: (seq: number) => void;
}

export function Scrubber({ at, head, mark, turns, axis, version, turn, drag }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const track = useRef<HTMLDivElement>(null);
  const dragging = useRef(false);

  useEffect(() => {
    const draw = () => canvas.current && paint(canvas.current, turns, axis, head);
    draw();
    const watching = new ResizeObserver(draw);
    watching.observe(canvas.current!);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    addEventListener('annals-theme', draw);
    return () => {
      watching.disconnect();
      scheme.removeEventListener('change', draw);
      removeEventListener('annals-theme', draw);
    };
  }, [version, head]);

  const move = (event: PointerEvent) => {
    const box = track.current!.getBoundingClientRect();
    drag(Math.round(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * head));
  };
  const share = (seq: number) => `${head ? (Math.min(seq, head) / head) * 100 : 0}%`;
  const words = `${count(at)} of ${plural(head, 'event')}${turn ? `, turn ${turn.turn}, ${clock(turn.at)}` : ''}`;
  return (
    <div
      class="scrubber"
      ref={track}
      role="slider"
      tabIndex={0}
      aria-label="Place in the session"
      aria-valuemin={0}
      aria-valuemax={head}
      aria-valuenow={at}
      aria-valuetext={words}
      title={turn ? `turn ${turn.turn}: ${oneLine(turn.prompt, 80)}` : undefined}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        dragging.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        move(event);
      }}
      onPointerMove={(event) => dragging.current && move(event)}
      onPointerUp={() => (dragging.current = false)}
      onPointerCancel={() => (dragging.current = false)}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {mark !== null && <span class="flag" style={{ left: share(mark) }} aria-hidden="true" />}
      <span class="thumb" style={{ left: share(at) }} aria-hidden="true" />
    </div>
  );
}

// Turns alternate in two tones; errors, compactions and epochs are lines. Several events may share a pixel, so that errors come last.
function paint(canvas: HTMLCanvasElement, turns: readonly Turn[], axis: Axis | null, head: number): void {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const draw = canvas.getContext('2d')!;
  draw.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const x = (seq: number) => (head ? (seq / head) * width : 0);
  draw.fillStyle = colour('--line');
  draw.fillRect(0, 8, width, height - 16);
  // All turns where they have room; what is not loaded is drawn by the axis.
  const firsts = axis?.turns ?? [];
  if (firsts.length < width / 3) {
    firsts.forEach((first, place) => {
      draw.fillStyle = colour(place % 2 ? '--track-a' : '--track-b');
      draw.fillRect(x(first), 8, Math.max(1, x(firsts[place + 1] ?? head) - x(first) - (firsts.length < width / 6 ? 1 : 0)), height - 16);
    });
  } else {
    draw.fillStyle = colour('--track-b');
    draw.fillRect(0, 8, width, height - 16);
  }
  turns.forEach((turn) => {
    draw.fillStyle = colour(turn.turn % 2 ? '--track-a' : '--track-b');
    draw.fillRect(x(turn.first), 8, Math.max(1, x(turn.last + 1) - x(turn.first) - (turns.length < width / 6 ? 1 : 0)), height - 16);
  });
  for (const turn of turns) {
    for (const call of turn.calls) {
      draw.fillStyle = colour('--tool');
      draw.fillRect(x(call.first), height - 12, Math.max(1.5, x((call.last ?? call.first) + 1) - x(call.first) - 0.5), 4);
    }
    for (const mark of turn.marks) {
      const name = { compaction: '--compaction', epoch: '--context', permission: '--user', revert: '--user', erasure: '--compaction' }[mark.kind];
      if (!name) continue;
      draw.fillStyle = colour(name);
      draw.fillRect(x(mark.seq), mark.kind === 'permission' ? 8 : 2, 2, mark.kind === 'permission' ? 5 : height - 4);
    }
  }
  for (const [name, places] of [['--context', axis?.epochs ?? []], ['--compaction', axis?.compactions ?? []]] as const) {
    draw.fillStyle = colour(name);
    for (const seq of places) draw.fillRect(x(seq), 2, 1.5, height - 4);
  }
  draw.fillStyle = colour('--bad');
  for (const seq of axis?.errors ?? []) draw.fillRect(x(seq), 0, 2, height);
  for (const turn of turns) {
    for (const call of turn.calls) if (failed(call.status)) draw.fillRect(x(call.last ?? call.first), 0, 2.5, height);
    for (const mark of turn.marks) if (mark.kind === 'error') draw.fillRect(x(mark.seq), 0, 2.5, height);
  }
}
