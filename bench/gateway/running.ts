import type { Kind } from '../exchange.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Endpoint } from './gateway-load.ts'

/** What a contender needs to start. */
export interface Setting {
  /** Origin of the upstream. */
  readonly upstream: string
  readonly counts: Upstream['counts']
  /** A folder that other users may pass through; what lies in it stays for the next start. */
  readonly folder: string
}

/** A started contender. */
export interface Running {
  /** Undefined when nothing lies between the client and the upstream. */
  readonly pid: number | undefined
  endpoint(kind: Kind): Endpoint
  stop(): Promise<void>
}
