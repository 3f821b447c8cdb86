import type { Kind } from './exchange.ts'
import { runProgram } from './program.ts'

/** Model calls to send: `calls` in all, `connections` of them at any time. */
export interface ModelLoad {
  readonly origin: string
  readonly key: string
  readonly kind: Kind
  readonly bodyBytes: number
  readonly connections: number
  readonly calls: number
}

/** What came of it. Every answer was whole, or the run would have failed. */
export interface LoadResult {
  readonly elapsedMs: number
  readonly events: number
  /** From the upstream's write of a text event to its arrival; NaN for JSON. */
  readonly relayP50Ms: number
  readonly relayP99Ms: number
  readonly callP50Ms: number
  readonly callP99Ms: number
}

/** Sends the calls from a process of their own. Rejects when an answer was not whole, or nothing came in time. */
export const sendModelLoad = (load: ModelLoad): Promise<LoadResult> =>
  runProgram<LoadResult>(import.meta.resolve('./load-generator.ts'), load)
