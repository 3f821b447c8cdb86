import { invalid } from '../platform/errors.ts'
import { inTurns } from '../platform/turns.ts'
import { GlobAutomaton } from './glob-automaton.ts'

/** About 4 ms. */
const workOfTurn = 80_000
/** About 0.5 s of CPU time. A simple pattern takes one unit per character of a path. */
const maxWork = 10_000_000

/**
 * Returns the paths that match `pattern`, in their order. Yields to the event loop. Errors: `invalid_request` when the
 * pattern is too complex, alone or for this number of paths. Rejects with the reason of the signal.
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
    if (automaton.work > maxWork) {
      throw invalid(`pattern: too complex for ${paths.length} files; name a folder in path, or use fewer * and {}`)
    }
    yield
  }
}
