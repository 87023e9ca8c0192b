/** Where in the run we are. Moves by itself while it plays; stands while nobody looks. */

/** The longest step that a frame may make, in milliseconds of life: after a pause of the browser, the play goes on where it was. */
const FRAME_MS_MAX = 100;

export class Playhead {
  atMs = $state(0);
  isPlaying = $state(false);
  speed = $state(1);

  #lengthMs = 0;
  /** Where it stops. */
  #untilMs = Infinity;
  #frame = 0;
  #last: number | null = null;

  set lengthMs(value: number) {
    this.#lengthMs = value;
    if (this.atMs > value) this.atMs = value;
  }

  /** Plays on, from the start if it was at the end; until a moment, if one is given. */
  play(untilMs = Infinity): void {
    this.#untilMs = untilMs;
    if (this.atMs >= this.#lengthMs) this.atMs = 0;
    this.isPlaying = true;
    this.#arm();
  }

  pause(): void {
    this.isPlaying = false;
    cancelAnimationFrame(this.#frame);
  }

  /** Goes to a moment, and stays as it was: playing or not. */
  seek(atMs: number): void {
    this.#untilMs = Infinity;
    this.atMs = Math.min(Math.max(atMs, 0), this.#lengthMs);
  }

  /** For when the page is hidden, or shown again. */
  look(isHidden: boolean): void {
    if (isHidden) cancelAnimationFrame(this.#frame);
    else if (this.isPlaying) this.#arm();
  }

  #arm(): void {
    cancelAnimationFrame(this.#frame);
    this.#last = null;
    this.#frame = requestAnimationFrame((now) => this.#step(now));
  }

  #step(now: number): void {
    const lived = this.#last === null ? 0 : Math.min(now - this.#last, FRAME_MS_MAX);
    this.#last = now;
    const end = Math.min(this.#lengthMs, this.#untilMs);
    this.atMs = Math.min(this.atMs + lived * this.speed, end);
    if (this.atMs >= end) this.isPlaying = false;
    else this.#frame = requestAnimationFrame((next) => this.#step(next));
  }
}

/** Whether the viewer asked for no motion. */
export function wantsStillness(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
