import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { gathered } from './gathered';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('acts once for many calls, and again for later ones', () => {
  const act = vi.fn();
  const call = gathered(act, 300);
  for (let at = 0; at < 10; at += 1) {
    call();
    vi.advanceTimersByTime(20);
  }
  expect(act).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(100);
  expect(act).toHaveBeenCalledTimes(1);
  call();
  vi.advanceTimersByTime(300);
  expect(act).toHaveBeenCalledTimes(2);
});
