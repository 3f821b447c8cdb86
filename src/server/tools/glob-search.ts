import { invalid } from '../platform/errors.ts'
import { turn } from '../platform/turns.ts'
import { GlobAutomaton } from './glob-automaton.ts'

/** About 4 ms. */
const workOfTurn = 80_000
/** About 0.5 s of computing. A simple pattern takes one unit for each character of a path. */
const mostWork = 10_000_000

/**
 * The paths that `pattern` names, in their order. Computes in short turns, so the process goes on answering meanwhile.
 * Errors: `invalid_request` when the pattern is too complex for so many paths, or by itself. Rejects with the reason of the signal.
 */
export async function pathsThatFit(
  pattern: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const automaton = new GlobAutomaton(pattern)
  const matches = automaton.matches(paths, workOfTurn)
  for (;;) {
    await turn()
    signal.throwIfAborted()
    const step = matches.next()
    if (step.done) return step.value
    if (automaton.work > mostWork) {
      throw invalid(`pattern: too complex for ${paths.length} files; name a folder in path, or use fewer * and {}`)
    }
  }
}
