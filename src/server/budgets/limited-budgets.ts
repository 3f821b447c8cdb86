import type { BudgetName, Payers } from './store.ts'

interface Options {
  /** Those of the given budgets that limit anything. */
  readonly load: (names: readonly BudgetName[]) => Promise<readonly BudgetName[]>
  /** Monotonic. */
  readonly nowMs: () => number
  /** Budgets remembered at most, of each scope. */
  readonly capacity?: number
}

interface Entry {
  readonly isLimited: boolean
  readonly sinceMs: number
}

/** Keys are not here: what is known of a key says whether it has a limit. */
const scopes = ['owner', 'agent', 'session'] as const
type Scope = (typeof scopes)[number]

const maxAgeMs = 5_000
const defaultCapacity = 10_000

/** Remembers, for 5 s at most, which owners, agents and sessions have limits, so that other calls need no round trip. */
export class LimitedBudgets {
  readonly #options: Options
  readonly #entries: Readonly<Record<Scope, Map<string, Entry>>> = {
    owner: new Map(),
    agent: new Map(),
    session: new Map(),
  }
  /** Counts what was forgotten: an answer from before that is not kept. */
  #changes = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** True when any of them limits a call: at once when all are remembered, else as the database says. */
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

  /** Forgets a budget that has changed, as `scope:scope_id`. */
  forget(name: string): void {
    this.#changes++
    const colon = name.indexOf(':')
    const scope = scopes.find(known => known === name.slice(0, colon))
    if (scope) this.#entries[scope].delete(name.slice(colon + 1))
  }

  /** Forgets all: changes may have been missed. */
  clear(): void {
    this.#changes++
    for (const scope of scopes) this.#entries[scope].clear()
  }

  async #load(names: readonly BudgetName[], sinceMs: number): Promise<boolean> {
    const changes = this.#changes
    const limited = await this.#options.load(names)
    if (changes === this.#changes) for (const name of names) this.#keep(name, limited, sinceMs)
    return limited.length > 0
  }

  #keep({ scope, scope_id }: BudgetName, limited: readonly BudgetName[], sinceMs: number): void {
    if (scope === 'key') return
    const entries = this.#entries[scope]
    const isLimited = limited.some(found => found.scope === scope && found.scope_id === scope_id)
    entries.delete(scope_id)
    entries.set(scope_id, { isLimited, sinceMs })
    const [oldest] = entries.keys()
    if (entries.size > (this.#options.capacity ?? defaultCapacity) && oldest !== undefined) entries.delete(oldest)
  }
}
