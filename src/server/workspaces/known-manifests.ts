import type { LeftOut } from './limits.ts'
import type { Chain, Manifest } from './manifest.ts'

/** What this process knows of the files of a session. */
export interface KnownFiles {
  /** The session's last checkpoint; undefined before the first. */
  readonly checkpointId: string | undefined
  readonly manifest: Manifest
  readonly leftOut: readonly LeftOut[]
  readonly chain: Chain
}

/** About 400 bytes each. */
const mostEntries = 100_000

/** The manifests of the sessions that ran in this process last. */
export class KnownManifests {
  /** Least recently used first. */
  readonly #known = new Map<string, KnownFiles>()
  #entries = 0

  get(sessionId: string): KnownFiles | undefined {
    const known = this.#known.get(sessionId)
    if (known) this.set(sessionId, known)
    return known
  }

  set(sessionId: string, known: KnownFiles): void {
    this.forget(sessionId)
    this.#known.set(sessionId, known)
    this.#entries += known.manifest.size
    for (const [oldest] of this.#known) {
      if (this.#entries <= mostEntries || oldest === sessionId) break
      this.forget(oldest)
    }
  }

  forget(sessionId: string): void {
    this.#entries -= this.#known.get(sessionId)?.manifest.size ?? 0
    this.#known.delete(sessionId)
  }
}
