/**
 * The whole run of a lane as a picture, drawn once:
 *
 *   ┌────────────────┐   where the most went ahead within a window
 *   ▂▅█▂  level  ▂█    admitted, upwards; behind it what the bucket held
 *   ──────────────────
 *     ╎╎╎ ╎   ╎╎       denied, downwards and dashed
 */

import { span, tokens } from '../../lib/format';
import { levelAt, type Columns, type Lane, type Point } from './trace';
import type { Ink } from './ink';

export const TIMELINE_HEIGHT = 104;
/** Pixels of one column, with the gap to the next. */
export const COLUMN_WIDTH = 4;

const [BRACKET_Y, TOP_Y, BASE_Y, BOTTOM_Y] = [7, 20, 72, 102];

export interface Picture {
  readonly lane: Lane;
  readonly columns: Columns;
  /** The most in one column of any lane: one scale for all. */
  readonly tallest: { readonly admitted: number; readonly denied: number };
  readonly width: number;
  readonly lengthMs: number;
  /** Whether the level shows what waits instead of what is left. */
  readonly isQueue: boolean;
  /** At which distances windows turn, where they do. */
  readonly turnMs: number | null;
}

export function drawTimeline(context: CanvasRenderingContext2D, picture: Picture, ink: Ink): void {
  const { lane, width, lengthMs } = picture;
  const x = (atMs: number): number => (atMs / lengthMs) * width;
  drawTurns(context, picture, ink, x);
  lane.levels.forEach((points, tier) => {
    const capacity = lane.trace.tiers?.[tier]?.capacity ?? lane.trace.capacity;
    context.setLineDash(tier === 0 ? [] : [5, 2 * tier]);
    drawLevel(context, points, capacity, picture, ink);
  });
  context.setLineDash([]);
  drawColumns(context, picture, ink);
  context.fillStyle = ink.line;
  context.fillRect(0, BASE_Y, width, 1);
  drawBusiest(context, picture, ink, x);
}

function drawTurns(
  context: CanvasRenderingContext2D,
  { width, lengthMs, turnMs }: Picture,
  ink: Ink,
  x: (atMs: number) => number,
): void {
  if (turnMs === null || x(turnMs) < 12) return;
  context.save();
  context.strokeStyle = ink.muted;
  context.setLineDash([3, 3]);
  context.beginPath();
  for (let at = turnMs; at < lengthMs; at += turnMs) {
    const across = Math.min(Math.round(x(at)) + 0.5, width - 0.5);
    context.moveTo(across, TOP_Y - 6);
    context.lineTo(across, BOTTOM_Y);
  }
  context.stroke();
  context.restore();
}

function drawLevel(
  context: CanvasRenderingContext2D,
  points: readonly Point[],
  capacity: number,
  { width, lengthMs, isQueue }: Picture,
  ink: Ink,
): void {
  const y = (level: number): number => {
    const shown = isQueue ? capacity - level : level;
    return BASE_Y - (Math.max(0, shown) / capacity) * (BASE_Y - TOP_Y);
  };
  const line = new Path2D();
  line.moveTo(0, y(levelAt(points, 0)));
  for (const [at, level] of points) line.lineTo((at / lengthMs) * width, y(level));
  const area = new Path2D(line);
  area.lineTo(width, BASE_Y);
  area.lineTo(0, BASE_Y);
  area.closePath();
  context.save();
  context.fillStyle = ink.lane;
  context.globalAlpha = 0.13;
  context.fill(area);
  context.globalAlpha = 0.75;
  context.strokeStyle = ink.lane;
  context.lineWidth = 1.25;
  context.stroke(line);
  context.restore();
}

function drawColumns(
  context: CanvasRenderingContext2D,
  { columns, tallest, width }: Picture,
  ink: Ink,
): void {
  const step = width / columns.admitted.length;
  // By the root: a lone request stays visible beside a burst of hundreds.
  const height = (count: number, most: number, room: number): number =>
    Math.max(3, room * Math.sqrt(count / Math.max(most, 1)));
  context.fillStyle = ink.admit;
  columns.admitted.forEach((count, column) => {
    if (count === 0) return;
    const tall = height(count, tallest.admitted, BASE_Y - TOP_Y);
    context.fillRect(column * step + 0.5, BASE_Y - tall, step - 1, tall);
  });
  context.save();
  context.strokeStyle = ink.deny;
  context.lineWidth = Math.max(1.5, step - 1.5);
  context.setLineDash([2.5, 1.5]);
  context.beginPath();
  columns.denied.forEach((count, column) => {
    if (count === 0) return;
    const across = (column + 0.5) * step;
    context.moveTo(across, BASE_Y + 2.5);
    context.lineTo(across, BASE_Y + 2.5 + height(count, tallest.denied, BOTTOM_Y - BASE_Y - 3));
  });
  context.stroke();
  context.restore();
}

function drawBusiest(
  context: CanvasRenderingContext2D,
  { lane, width }: Picture,
  ink: Ink,
  x: (atMs: number) => number,
): void {
  if (!lane.busiest) return;
  const isOver = lane.trace.over_promise > 0;
  const [from, to] = [Math.max(1, x(lane.busiest.fromMs)), Math.min(width - 1, x(lane.busiest.toMs))];
  if (to - from < 4) return;
  context.save();
  context.strokeStyle = isOver ? ink.deny : ink.muted;
  context.lineWidth = isOver ? 2 : 1;
  context.beginPath();
  context.moveTo(from, BRACKET_Y + 6);
  context.lineTo(from, BRACKET_Y);
  context.lineTo(to, BRACKET_Y);
  context.lineTo(to, BRACKET_Y + 6);
  context.stroke();
  const { tokens: most, window_ms } = lane.trace.most_in_window;
  const label = `${tokens(most)} in ${span(window_ms)}`;
  context.font = '600 11px system-ui, sans-serif';
  const room = context.measureText(label).width / 2 + 5;
  const middle = Math.min(Math.max((from + to) / 2, room), width - room);
  context.fillStyle = ink.surface;
  context.fillRect(middle - room, 0, room * 2, 14);
  context.fillStyle = isOver ? ink.deny : ink.muted;
  context.textAlign = 'center';
  context.fillText(label, middle, BRACKET_Y + 4);
  context.restore();
}
