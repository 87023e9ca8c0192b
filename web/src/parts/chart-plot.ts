/** How a chart is drawn by uPlot: colours from the custom properties of the page, time in the viewer's zone, zero at the bottom unless by powers of ten. */

import uPlot from 'uplot';
import { colour } from '../lib/colours';
import { timeOfDay } from '../lib/format';
import type { Column } from '../lib/types';

export interface Line {
  readonly label: string;
  /** A custom property that holds a colour as `#rrggbb`. */
  readonly colour: `--${string}`;
  readonly look?: 'area' | 'line' | 'dashes';
  /** One value for each time. */
  readonly values: Column;
}

export interface Drawn {
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
  /** `log` where values of very different size are to be seen together; such values are above zero. */
  readonly scale: 'even' | 'log';
  /** A value on the axis. */
  readonly format: (value: number) => string;
  /** Which time is pointed at; null if none. */
  readonly onpoint: (index: number | null) => void;
}

const SECONDS_OF_MINUTE = 60;
/** Seconds between times on the axis. */
const TIME_STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900];
/** A chart this low needs values close together to have any. */
const LOW_PX = 150;
const AXIS_FONT = '12px system-ui, sans-serif';

export function plot(into: HTMLElement, drawn: Drawn): uPlot {
  const grid = { stroke: () => colour('--line'), width: 1 };
  const axis = { stroke: () => colour('--muted'), font: AXIS_FONT, ticks: { show: false } };
  const options: uPlot.Options = {
    width: drawn.width,
    height: drawn.height,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: true }, y: drawn.scale === 'log' ? LOG : EVEN },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 22,
        space: 90,
        incrs: TIME_STEPS,
        values: (_, splits) => clockTexts(splits),
      },
      {
        ...axis,
        grid,
        size: 56,
        space: (_, __, ___, ____, room) => (room < LOW_PX ? 22 : 44),
        ...(drawn.scale === 'log' ? { splits: (_, __, least, most) => powersOfTen(least, most) } : {}),
        values: (_, splits) => splits.map((split) => (split === null ? '' : drawn.format(split))),
      },
    ],
    series: [
      {},
      ...drawn.lines.map((line) => ({
        label: line.label,
        stroke: () => colour(line.colour),
        width: 1.5,
        points: { show: false },
        ...(line.look === 'area' ? { fill: () => `${colour(line.colour)}1f` } : {}),
        ...(line.look === 'dashes' ? { dash: [5, 4] } : {}),
      })),
    ],
    hooks: { setCursor: [(chart) => drawn.onpoint(chart.cursor.idx ?? null)] },
  };
  return new uPlot(options, [[], ...drawn.lines.map(() => [])], into);
}

const EVEN: uPlot.Scale = { range: (_, __, most) => [0, roomAbove(most)] };
const LOG: uPlot.Scale = {
  distr: 3,
  log: 10,
  // Whole powers of ten; a quiet chart keeps a scale all the same.
  range: (_, least, most) =>
    least === null || least <= 0 ? [1, 1_000] : uPlot.rangeLog(least, most, 10, true),
};

function powersOfTen(least: number, most: number): number[] {
  const powers: number[] = [];
  for (let power = Math.ceil(Math.log10(least)); power <= Math.log10(most); power += 1)
    powers.push(10 ** power);
  return powers;
}

/** Some air above the highest value; a quiet chart keeps a scale all the same. */
function roomAbove(most: number | null): number {
  return most === null || most <= 0 ? 10 : most * 1.1;
}

/** Seconds only where the axis is that fine. */
function clockTexts(splits: readonly number[]): string[] {
  const isFine = splits.some((split) => split % SECONDS_OF_MINUTE !== 0);
  return splits.map((split) => {
    const text = timeOfDay(split * 1_000);
    return isFine ? text : text.slice(0, 5);
  });
}
