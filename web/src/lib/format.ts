/** Numbers and times as people read them; times in the viewer's zone. */

import type { Times } from './types';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  // Not `hour12: false`, by which some languages call midnight 24:00.
  hourCycle: 'h23',
});
const shortClock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
const full = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});

/** `1,234`; from 100,000 on `123.5K`. */
export function count(value: number): string {
  return Math.abs(value) < 100_000 ? whole.format(value) : short.format(value);
}

/** `17`, or `59–78` where the truth is somewhere between. */
export function times({ at_least, at_most }: Times): string {
  return at_least === at_most ? count(at_most) : `${count(at_least)}–${count(at_most)}`;
}

/** Up to two decimals. */
export function tokens(value: number): string {
  return fine.format(value);
}

/** `0.4 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${fine.format(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${fine.format(seconds)} s`;
  const rounded = Math.round(seconds);
  const [minutes, rest] = [Math.floor(rounded / 60), rounded % 60];
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  const [hours, over] = [Math.floor(minutes / 60), minutes % 60];
  if (hours < 48) return over === 0 ? `${hours} h` : `${hours} h ${over} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `0.4 µs`, `1.2 ms`. */
export function micros(us: number): string {
  return us < 1_000 ? `${fine.format(us)} µs` : `${fine.format(us / 1_000)} ms`;
}

export function percent(ratio: number): string {
  return `${fine.format(ratio * 100)} %`;
}

/** The time of day in the viewer's zone. */
export function timeOfDay(at: Date | number | string): string {
  return clock.format(new Date(at));
}

/** The same without the seconds. */
export function hourAndMinute(at: Date | number | string): string {
  return shortClock.format(new Date(at));
}

/** Date and time in the viewer's zone. */
export function moment(at: Date | number | string): string {
  return full.format(new Date(at));
}
