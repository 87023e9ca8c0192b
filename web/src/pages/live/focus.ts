/** Whether something has the focus by keyboard: a click leaves the focus behind, and says nothing of where somebody is. */
export function isByKeyboard(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches(':focus-visible');
}
