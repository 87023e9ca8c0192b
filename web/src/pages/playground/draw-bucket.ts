/**
 * A limiter as a thing, at one moment. A pure function of that moment: played, scrubbed or standing, it looks the same.
 *
 *     ✕ ✕        denied: bounce off the rim
 *   \      /
 *    \≈≈≈≈/      what is left, or what waits
 *     \__/
 *      ●         admitted: drop out below
 */

import type { Ink } from './ink';

export const BUCKET_WIDTH = 104;
export const BUCKET_HEIGHT = 108;
const [RIM_Y, FLOOR_Y] = [22, 82];
const CENTRE = BUCKET_WIDTH / 2;

export interface Vessel {
  readonly level: number;
  readonly capacity: number;
}

/** A request that was decided a moment ago. */
export interface Recent {
  /** From 0, just now, to 1, gone. */
  readonly age: number;
  readonly isAdmitted: boolean;
  /** From 0 to 1, always the same for the same request. */
  readonly side: number;
}

export interface Sight {
  readonly shape: 'bucket' | 'queue' | 'quota';
  readonly vessels: readonly Vessel[];
  readonly recent: readonly Recent[];
  /** How far the current window has come, from 0 to 1, where windows turn. */
  readonly turn: number | null;
  /** Of the surface. */
  readonly phase: number;
  readonly label: string;
}

export function drawBucket(context: CanvasRenderingContext2D, sight: Sight, ink: Ink): void {
  const width = Math.min(34, 84 / sight.vessels.length / 2 - 2);
  sight.vessels.forEach((vessel, index) => {
    const centre = CENTRE + (index - (sight.vessels.length - 1) / 2) * (width * 2 + 5);
    if (sight.shape === 'quota') drawQuota(context, vessel, sight, ink);
    else drawVessel(context, vessel, centre, width, sight, ink);
  });
  for (const request of sight.recent) drawRequest(context, request, ink);
  context.font = '600 11px system-ui, sans-serif';
  context.textAlign = 'center';
  context.lineJoin = 'round';
  context.lineWidth = 4;
  context.strokeStyle = ink.surface;
  context.strokeText(sight.label, CENTRE, BUCKET_HEIGHT - 4);
  context.fillStyle = ink.text;
  context.fillText(sight.label, CENTRE, BUCKET_HEIGHT - 4);
}

function drawVessel(
  context: CanvasRenderingContext2D,
  { level, capacity }: Vessel,
  centre: number,
  half: number,
  { shape, phase }: Sight,
  ink: Ink,
): void {
  const foot = half * (shape === 'queue' ? 0.35 : 0.78);
  const outline = new Path2D();
  outline.moveTo(centre - half, RIM_Y);
  outline.lineTo(centre - foot, FLOOR_Y);
  outline.lineTo(centre + foot, FLOOR_Y);
  outline.lineTo(centre + half, RIM_Y);
  const inside = new Path2D(outline);
  inside.closePath();
  context.fillStyle = ink.sunken;
  context.fill(inside);
  const full = Math.min(1, Math.max(0, (shape === 'queue' ? capacity - level : level) / capacity));
  const surface = FLOOR_Y - full * (FLOOR_Y - RIM_Y - 3);
  context.save();
  context.clip(inside);
  context.fillStyle = ink.lane;
  context.globalAlpha = 0.85;
  context.beginPath();
  context.moveTo(centre - half, FLOOR_Y);
  // A calm surface; none at all on what is empty.
  const swell = full > 0.02 ? 1.1 : 0;
  for (let across = -half; across <= half; across += 2)
    context.lineTo(centre + across, surface + swell * Math.sin(across / 7 + phase));
  context.lineTo(centre + half, FLOOR_Y);
  context.fill();
  context.restore();
  context.strokeStyle = ink.text;
  context.lineWidth = 2;
  context.lineCap = 'round';
  context.stroke(outline);
}

/** A quota is no liquid: it is a stack of blocks, which comes back at once. */
function drawQuota(
  context: CanvasRenderingContext2D,
  { level, capacity }: Vessel,
  { turn }: Sight,
  ink: Ink,
): void {
  const [left, width, blocks, gap] = [CENTRE - 26, 52, 10, 2];
  const tall = (FLOOR_Y - RIM_Y - gap * (blocks - 1)) / blocks;
  const full = Math.min(1, Math.max(0, level / capacity)) * blocks;
  for (let block = 0; block < blocks; block += 1) {
    const y = FLOOR_Y - (block + 1) * tall - block * gap;
    context.fillStyle = ink.sunken;
    context.fillRect(left, y, width, tall);
    const filled = Math.min(1, Math.max(0, full - block));
    context.globalAlpha = 0.85;
    context.fillStyle = ink.lane;
    context.fillRect(left, y + tall * (1 - filled), width, tall * filled);
    context.globalAlpha = 1;
  }
  context.strokeStyle = ink.text;
  context.lineWidth = 2;
  context.strokeRect(left - 4, RIM_Y - 4, width + 8, FLOOR_Y - RIM_Y + 8);
  if (turn === null) return;
  // How far the window has come: at the top of the frame, the quota jumps.
  const height = (FLOOR_Y - RIM_Y + 8) * turn;
  context.fillStyle = ink.text;
  context.fillRect(left + width + 7, FLOOR_Y + 4 - height, 3, height);
}

function drawRequest(context: CanvasRenderingContext2D, { age, isAdmitted, side }: Recent, ink: Ink): void {
  context.save();
  context.globalAlpha = 1 - age * age;
  if (isAdmitted) {
    context.fillStyle = ink.admit;
    context.beginPath();
    context.arc(CENTRE + (side - 0.5) * 34, FLOOR_Y + 5 + age * age * 18, 3, 0, Math.PI * 2);
    context.fill();
  } else {
    const flown = Math.sqrt(age);
    const [x, y] = [CENTRE + (side - 0.5) * (24 + 70 * flown), RIM_Y - 6 - 12 * flown];
    context.strokeStyle = ink.deny;
    context.lineWidth = 1.75;
    context.beginPath();
    context.moveTo(x - 2.75, y - 2.75);
    context.lineTo(x + 2.75, y + 2.75);
    context.moveTo(x + 2.75, y - 2.75);
    context.lineTo(x - 2.75, y + 2.75);
    context.stroke();
  }
  context.restore();
}
