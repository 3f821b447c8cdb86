import { maxFound } from '../../tools/searched-tools.ts'

/**
 * Names of the tools that the model sees because it found or called them, in this order. The oldest of more than `maxFound` are
 * dropped; they can be found again.
 */
export class FoundTools {
  #names: readonly string[] = []

  get names(): readonly string[] {
    return this.#names
  }

  /** Adds names at the end; those that are there keep their place. */
  add(names: readonly string[]): void {
    const added = names.filter(name => !this.#names.includes(name))
    if (added.length > 0) this.#names = [...new Set([...this.#names, ...added])].slice(-maxFound)
  }

  /** Adds the names of events that a compaction replaced. Those of later events may be there already. */
  putFirst(names: readonly string[]): void {
    this.#names = [...new Set([...names, ...this.#names])].slice(-maxFound)
  }
}
