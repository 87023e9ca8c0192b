/** The colours of the page, for what is drawn on a canvas, and a canvas as sharp as the screen. */

export interface Ink {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly sunken: string;
  readonly admit: string;
  readonly deny: string;
  /** Of the algorithm. */
  readonly lane: string;
}

/** As the custom properties stand now. */
export function inkOf(lane: string): Ink {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    text: colour('--text'),
    muted: colour('--muted'),
    line: colour('--line'),
    surface: colour('--surface'),
    sunken: colour('--sunken'),
    admit: colour('--admit'),
    deny: colour('--deny'),
    lane: colour(lane),
  };
}

/** An empty canvas of this size in CSS pixels. */
export function cleared(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const scale = Math.min(devicePixelRatio || 1, 3);
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  const context = canvas.getContext('2d');
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}
