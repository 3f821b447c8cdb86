/** The groups of guarantees, and how many cases each has. A test names its cases at the start of its name. */
export const groups = [
  { letter: 'T', about: 'stream grammar', cases: 13 },
  { letter: 'S', about: 'stop reasons', cases: 4 },
  { letter: 'U', about: 'usage', cases: 8 },
  { letter: 'K', about: 'thinking and signatures', cases: 8 },
  { letter: 'C', about: 'prompt caching and counting', cases: 5 },
  { letter: 'M', about: 'content conversion', cases: 10 },
  { letter: 'E', about: 'errors and liveness', cases: 10 },
  { letter: 'R', about: 'purity of passthrough', cases: 8 },
  { letter: 'B', about: 'keys and budgets', cases: 6 },
  { letter: 'P', about: 'other endpoints', cases: 39 },
  { letter: 'G', about: 'what Claude Code needs', cases: 12 },
  { letter: 'F', about: 'nothing invented, nothing lost', cases: 11 },
] as const

/** Every case by its id. */
export const allCases: readonly string[] = groups.flatMap(({ letter, cases }) =>
  Array.from({ length: cases }, (_, at) => `${letter}${at + 1}`),
)

/** The cases that a test's name claims: `U1, U2: ...` or `T9, gemini: ...`. */
export function casesOf(name: string): string[] {
  const head = /^((?:[A-Z]\d+(?:, )?)+)/.exec(name)?.[1] ?? ''
  return (head.match(/[A-Z]\d+/g) ?? []).filter(id => allCases.includes(id))
}
