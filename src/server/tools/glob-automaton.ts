import { type CharacterTest, globSteps, type Step } from './glob-pattern.ts'

const slash = 47

/** A set of steps that a path can have reached, with the cached sets that follow it. */
interface State {
  readonly steps: readonly number[]
  readonly isEnd: boolean
  readonly next: Map<number, State>
}

/** Limit of steps in all cached states; above it the cache is cleared. */
const maxCached = 500_000

/**
 * Matches paths against a glob pattern. All alternatives are followed at the same time, one character of the path after
 * the other, so the work is at most path length × pattern length; a cached set of steps costs one look-up.
 */
export class GlobAutomaton {
  readonly #steps: readonly Step[]
  #states = new Map<string, State>()
  #cached = 0
  readonly #start: readonly number[]
  #work = 0

  /** Errors: `invalid_request` for a pattern with too many alternatives. */
  constructor(pattern: string) {
    const starts: number[] = []
    const steps: Step[] = []
    for (const alternative of globSteps(pattern)) {
      starts.push(steps.length)
      steps.push(...alternative)
    }
    this.#steps = steps
    this.#start = this.#closed(starts)
  }

  /** Work done so far; a unit takes about 50 ns. */
  get work(): number {
    return this.#work
  }

  /** Returns the matching paths in their order. Yields after every `slice` units of work. */
  *matches(paths: readonly string[], slice: number): Generator<undefined, string[]> {
    const found: string[] = []
    const start = this.#stateOf(this.#start)
    let pauseAt = this.#work + slice
    for (const path of paths) {
      let state = start
      for (let at = 0; at < path.length && state.steps.length > 0; at++) {
        const code = path.codePointAt(at) ?? 0
        if (code > 0xffff) at++
        this.#work++
        state = state.next.get(code) ?? this.#after(state, code)
        if (this.#work >= pauseAt) {
          yield
          pauseAt = this.#work + slice
        }
      }
      if (state.isEnd) found.push(path)
    }
    return found
  }

  /** Returns the state after one more character. */
  #after(state: State, code: number): State {
    const reached: number[] = []
    for (const at of state.steps) {
      const step = this.#steps[at]
      if (step?.kind === 'one' && this.#fits(step.test, code)) reached.push(at + 1)
      else if (step?.kind === 'deep' || (step?.kind === 'name' && code !== slash)) reached.push(at)
    }
    this.#work += 4 * state.steps.length
    const next = this.#stateOf(this.#closed(reached))
    state.next.set(code, next)
    this.#cached++
    return next
  }

  /** Returns the steps with all that can be reached from them without a character, in ascending order. */
  #closed(steps: readonly number[]): number[] {
    const found = new Set<number>()
    const open = [...steps]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (found.has(at)) continue
      found.add(at)
      const step = this.#steps[at]
      if (step?.kind === 'skip') open.push(at + 1, at + step.over)
      else if (step?.kind === 'name' || step?.kind === 'deep') open.push(at + 1)
    }
    this.#work += found.size
    return [...found].sort((a, b) => a - b)
  }

  #stateOf(steps: readonly number[]): State {
    const key = steps.join()
    const cached = this.#states.get(key)
    if (cached) return cached
    this.#cached += steps.length + 1
    if (this.#cached > maxCached) {
      this.#states = new Map()
      this.#cached = steps.length + 1
    }
    const state = { steps, isEnd: steps.some(at => this.#steps[at]?.kind === 'end'), next: new Map() }
    this.#states.set(key, state)
    return state
  }

  #fits(test: CharacterTest, code: number): boolean {
    if (typeof test === 'number') return test === code
    if (code === slash) return false
    if (test === 'any') return true
    this.#work += test.ranges.length >> 1
    return test.ranges.some(([first, last]) => first <= code && code <= last) !== test.negated
  }
}
