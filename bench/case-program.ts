import { parseArgs } from 'node:util'
import type { BenchCase } from './bench-case.ts'
import { runCases } from './run-cases.ts'

/** A program whose arguments name cases. */
interface CaseProgram {
  /** The npm script, for messages. */
  readonly script: string
  /** Names its files below `bench/results`. */
  readonly subject: string
  /** Returns all cases; those that compare do so with this commit. */
  readonly casesWith: (against: string | undefined) => readonly BenchCase[]
}

/** Runs the cases that the arguments name, by default all, and returns the exit code: 1 when a figure misses its target. */
export async function caseProgram({ script, subject, casesWith }: CaseProgram, args: readonly string[]) {
  // What was started ends with this process, but only when it exits by itself.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const names = casesWith(undefined).map(({ name }) => name)
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { against: { type: 'string' }, write: { type: 'boolean', default: false } },
    })
    const unknown = positionals.find(name => !names.includes(name))
    if (unknown !== undefined) throw new Error(`unknown case: ${unknown}`)
    const chosen = casesWith(values.against).filter(
      ({ name }) => positionals.length === 0 || positionals.includes(name),
    )
    return await runCases(chosen, { ...(values.write && { subject }) })
  } catch (error) {
    const usage = `Usage: npm run ${script} -- [${names.join('] [')}] [--against <commit>] [--write]`
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}\n`)
    return 1
  }
}
