import { invalid } from '../platform/errors.ts'
import { inTurns } from '../platform/turns.ts'
import { GlobAutomaton } from './glob-automaton.ts'

/** About 4 ms. */
const workOfTurn = 80_000
/** About 0.5 s of computing. A simple pattern takes one unit for each character of a path. */
const mostWork = 10_000_000

/**
 * The paths that `pattern` names, in their order. Computes in turns. Errors: `invalid_request` when the pattern is too complex
 * for so many paths, or by itself. Rejects with the reason of the signal.
 */
export const pathsThatFit = (
  pattern: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => inTurns(search(pattern, paths), signal)

function* search(pattern: string, paths: readonly string[]): Generator<undefined, readonly string[]> {
  const automaton = new GlobAutomaton(pattern)
  const matches = automaton.matches(paths, workOfTurn)
  for (let step = matches.next(); ; step = matches.next()) {
    if (step.done) return step.value
    if (automaton.work > mostWork) {
      throw invalid(`pattern: too complex for ${paths.length} files; name a folder in path, or use fewer * and {}`)
    }
    yield
  }
}
