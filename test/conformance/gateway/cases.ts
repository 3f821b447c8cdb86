const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, at) => at + 1)

/** The groups of guarantees, and the numbers of their cases. A test names its cases at the start of its name. */
export const groups = [
  { letter: 'T', about: 'stream grammar', cases: upTo(13) },
  { letter: 'S', about: 'stop reasons', cases: upTo(4) },
  { letter: 'U', about: 'usage', cases: upTo(8) },
  { letter: 'K', about: 'thinking and signatures', cases: upTo(8) },
  { letter: 'C', about: 'prompt caching and counting', cases: upTo(5) },
  { letter: 'M', about: 'content conversion', cases: upTo(10) },
  { letter: 'E', about: 'errors and liveness', cases: upTo(11) },
  { letter: 'R', about: 'purity of passthrough', cases: upTo(8) },
  { letter: 'B', about: 'keys and budgets', cases: upTo(6) },
  { letter: 'P', about: 'other endpoints', cases: upTo(45) },
  { letter: 'G', about: 'what Claude Code needs', cases: upTo(12) },
  { letter: 'F', about: 'nothing invented, nothing lost', cases: upTo(11) },
  { letter: 'H', about: 'response cache', cases: upTo(12) },
  { letter: 'A', about: 'hooks around calls', cases: upTo(18) },
] as const

/** Every case by its id. */
export const allCases: readonly string[] = groups.flatMap(({ letter, cases }) =>
  cases.map(number => `${letter}${number}`),
)

/** The cases that a test's name claims: `U1, U2: ...` or `T9, gemini: ...`. */
export function casesOf(name: string): string[] {
  const head = /^((?:[A-Z]\d+(?:, )?)+)/.exec(name)?.[1] ?? ''
  return (head.match(/[A-Z]\d+/g) ?? []).filter(id => allCases.includes(id))
}
