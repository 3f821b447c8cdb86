import type { Json } from '../../../platform/json.ts'
import type { Degradation } from '../../translated/degradations.ts'

/** Collects what a request loses on its way to Gemini, in the order of its finding. */
export class Losses {
  readonly #found: Degradation[] = []
  #hasCacheControl = false

  note(path: string, action: string): void {
    this.#found.push({ path, action })
  }

  /** Gemini caches by itself: marks are left out everywhere and listed once. */
  markCache(holder: Json): void {
    if (holder['cache_control'] !== undefined && holder['cache_control'] !== null) this.#hasCacheControl = true
  }

  get list(): readonly Degradation[] {
    return this.#hasCacheControl ? [...this.#found, { path: 'cache_control', action: 'dropped' }] : this.#found
  }
}
