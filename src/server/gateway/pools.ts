import { Pool } from 'undici'
import type { Deployment } from '../config.ts'
import type { Outbound } from '../platform/outbound.ts'

/** Connections to upstreams, kept open between calls. */
export interface Pools {
  /** The pool for a deployment's origin. */
  for(deployment: Deployment): Pool
  /** Ends all connections, also those at work. */
  close(): Promise<void>
}

/** One pool an origin and connect time-out; every connection goes through the guard of `outbound`. */
export function createPools(outbound: Outbound): Pools {
  const pools = new Map<string, Pool>()
  return {
    for({ apiBase, timeouts }) {
      const { origin } = new URL(apiBase)
      const key = `${origin} ${timeouts.connectMs}`
      let pool = pools.get(key)
      if (!pool) {
        pool = new Pool(origin, {
          connect: outbound.connect(timeouts.connectMs),
          connections: null,
          pipelining: 1,
          keepAliveTimeout: 30_000,
          maxHeaderSize: 64 * 1024,
        })
        pools.set(key, pool)
      }
      return pool
    },
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
      pools.clear()
    },
  }
}
