import type { BudgetName, Payers } from './store.ts'

interface Options {
  /** Returns those of the given budgets that have a limit. */
  readonly load: (names: readonly BudgetName[]) => Promise<readonly BudgetName[]>
  /** Monotonic. */
  readonly nowMs: () => number
  /** Maximum number of cached budgets per scope. */
  readonly capacity?: number
}

interface Entry {
  readonly isLimited: boolean
  readonly sinceMs: number
}

/** Without keys and teams: the key cache stores whether a key or its team has a limit. */
const scopes = ['owner', 'agent', 'session'] as const
type Scope = (typeof scopes)[number]

const maxAgeMs = 5_000
const defaultCapacity = 10_000

/** Caches for 5 s which owners, agents and sessions have limits, so that calls without limits need no round trip. */
export class LimitedBudgets {
  readonly #options: Options
  readonly #entries: Readonly<Record<Scope, Map<string, Entry>>> = {
    owner: new Map(),
    agent: new Map(),
    session: new Map(),
  }
  /** Increments with each invalidation. Results loaded before it are not cached. */
  #changes = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** True if any of the payers has a limit. Synchronous if the cache can answer; otherwise asks the database. */
  isAny(payers: Payers): boolean | Promise<boolean> {
    const nowMs = this.#options.nowMs()
    let unknown: BudgetName[] | undefined
    for (const scope of scopes) {
      const scope_id = payers[scope]
      if (scope_id === undefined) continue
      const entry = this.#entries[scope].get(scope_id)
      if (entry && nowMs - entry.sinceMs < maxAgeMs) {
        if (entry.isLimited) return true
      } else {
        unknown ??= []
        unknown.push({ scope, scope_id })
      }
    }
    return unknown ? this.#load(unknown, nowMs) : false
  }

  /** Invalidates a changed budget, as `scope:scope_id`. */
  forget(name: string): void {
    this.#changes++
    const colon = name.indexOf(':')
    const scope = scopes.find(known => known === name.slice(0, colon))
    if (scope) this.#entries[scope].delete(name.slice(colon + 1))
  }

  /** Invalidates everything, for when notifications may have been missed. */
  clear(): void {
    this.#changes++
    for (const scope of scopes) this.#entries[scope].clear()
  }

  async #load(names: readonly BudgetName[], sinceMs: number): Promise<boolean> {
    const changes = this.#changes
    const limited = await this.#options.load(names)
    if (changes === this.#changes) for (const name of names) this.#cache(name, limited, sinceMs)
    return limited.length > 0
  }

  #cache({ scope, scope_id }: BudgetName, limited: readonly BudgetName[], sinceMs: number): void {
    if (scope === 'key' || scope === 'team') return
    const entries = this.#entries[scope]
    const isLimited = limited.some(found => found.scope === scope && found.scope_id === scope_id)
    entries.delete(scope_id)
    entries.set(scope_id, { isLimited, sinceMs })
    const [oldest] = entries.keys()
    if (entries.size > (this.#options.capacity ?? defaultCapacity) && oldest !== undefined) entries.delete(oldest)
  }
}
