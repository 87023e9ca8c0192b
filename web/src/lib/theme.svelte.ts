/** Light or dark: what the viewer's machine says, unless they chose. */

export type Choice = 'auto' | 'light' | 'dark';
const CHOICES: readonly Choice[] = ['auto', 'light', 'dark'];
const STORED = 'tollgate.theme';

const dark = matchMedia('(prefers-color-scheme: dark)');
let choice = $state<Choice>(stored());
let isDarkOutside = $state(dark.matches);

function stored(): Choice {
  const value = localStorage.getItem(STORED);
  return CHOICES.find((known) => known === value) ?? 'auto';
}

export const theme = {
  get choice(): Choice {
    return choice;
  },
  get isDark(): boolean {
    return choice === 'dark' || (choice === 'auto' && isDarkOutside);
  },
  choose(next: Choice): void {
    choice = next;
    localStorage.setItem(STORED, next);
    apply();
  },
};

function apply(): void {
  document.documentElement.dataset.theme = theme.isDark ? 'dark' : 'light';
}

dark.addEventListener('change', () => {
  isDarkOutside = dark.matches;
  apply();
});
apply();
