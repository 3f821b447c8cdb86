import type { LeftOut } from './limits.ts'
import type { Chain, Manifest } from './manifest.ts'

/** Cached state of the files of a session. */
export interface CachedFiles {
  /** The session's last checkpoint; undefined before the first. */
  readonly checkpointId: string | undefined
  readonly manifest: Manifest
  readonly leftOut: readonly LeftOut[]
  readonly chain: Chain
}

/** About 400 bytes each. */
const maxEntries = 100_000

/** LRU cache of the manifests of sessions that ran in this process. */
export class ManifestCache {
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedFiles>()
  #entries = 0

  get(sessionId: string): CachedFiles | undefined {
    const cached = this.#cached.get(sessionId)
    if (cached) this.set(sessionId, cached)
    return cached
  }

  set(sessionId: string, cached: CachedFiles): void {
    this.forget(sessionId)
    this.#cached.set(sessionId, cached)
    this.#entries += cached.manifest.size
    for (const [oldest] of this.#cached) {
      if (this.#entries <= maxEntries || oldest === sessionId) break
      this.forget(oldest)
    }
  }

  forget(sessionId: string): void {
    this.#entries -= this.#cached.get(sessionId)?.manifest.size ?? 0
    this.#cached.delete(sessionId)
  }
}
