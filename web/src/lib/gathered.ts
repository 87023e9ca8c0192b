/** Many calls become one, so long after the first of them: what is told ten times a second is looked at once. */
export function gathered(act: () => void, ms: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      act();
    }, ms);
  };
}
