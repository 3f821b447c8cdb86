import type { Dispatcher } from 'undici'
import type { Deployment } from '../../config/config.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { Pool } from '../../platform/undici.ts'

/** An upstream address, taken apart once. */
export interface Route {
  readonly pool: Dispatcher
  /** What stands before `/v1/messages`; empty without a prefix. */
  readonly pathPrefix: string
}

/** Connections to upstreams, kept open between calls. */
export interface Pools {
  /** The way to a deployment. */
  routeTo(deployment: Deployment): Route
  /** Ends all connections, also those at work. */
  close(): Promise<void>
}

/** One pool an origin and connect time-out; every connection goes through the guard of `outbound`. */
export function createPools(outbound: Outbound): Pools {
  const pools = new Map<string, Dispatcher>()
  const routes = new Map<Deployment, Route>()

  const poolFor = (origin: string, connectMs: number): Dispatcher => {
    const key = `${origin} ${connectMs}`
    const known = pools.get(key)
    if (known) return known
    const pool = new Pool(origin, {
      connect: outbound.connect(connectMs),
      connections: null,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      maxHeaderSize: 64 * 1024,
    })
    pools.set(key, pool)
    return pool
  }

  return {
    routeTo(deployment) {
      const known = routes.get(deployment)
      if (known) return known
      const { origin, pathname } = new URL(deployment.apiBase)
      const pathPrefix = pathname === '/' ? '' : pathname
      const route = { pool: poolFor(origin, deployment.timeouts.connectMs), pathPrefix }
      routes.set(deployment, route)
      return route
    },
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
    },
  }
}
