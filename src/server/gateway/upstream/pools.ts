import type { Dispatcher } from 'undici'
import type { Deployment } from '../../config/config.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { errors, Pool } from '../../platform/undici.ts'

/** An upstream address, taken apart once. */
export interface Route {
  readonly pool: Dispatcher
  /** What stands before `/v1/messages`; empty without a prefix. */
  readonly pathPrefix: string
}

/** Connections to upstreams, kept open between calls. */
export interface Pools {
  /** As the guard of now connects, for requests that are no model calls. */
  readonly connect: Outbound['connect']
  /** The way to a deployment. */
  routeTo(deployment: Deployment): Route
  /** Lets go what none of `deployments` needs, once it is idle; with a new guard that is everything there is. */
  reload(change: { readonly deployments: readonly Deployment[]; readonly outbound: Outbound | undefined }): void
  /** Ends all connections, also those at work. */
  close(): Promise<void>
}

/** One pool an origin and connect time-out; every connection goes through the guard of `outbound`. */
export function createPools(firstOutbound: Outbound): Pools {
  let outbound = firstOutbound
  const leaving = new Set<Dispatcher>()
  const pools = new Map<string, Dispatcher>()
  const routes = new Map<Deployment, Route>()

  const poolFor = (origin: string, connectMs: number): Dispatcher => {
    const key = keyOf(origin, connectMs)
    const known = pools.get(key)
    if (known) return known
    const pool = new Pool(origin, {
      connect: withinTime(outbound.connect(connectMs), connectMs),
      connections: null,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      maxHeaderSize: 64 * 1024,
    })
    pools.set(key, pool)
    return pool
  }

  return {
    connect: timeoutMs => outbound.connect(timeoutMs),
    routeTo(deployment) {
      const known = routes.get(deployment)
      if (known) return known
      const { origin, pathname } = new URL(deployment.apiBase)
      const pathPrefix = pathname === '/' ? '' : pathname
      const route = { pool: poolFor(origin, deployment.timeouts.connectMs), pathPrefix }
      routes.set(deployment, route)
      return route
    },
    reload({ deployments, outbound: next }) {
      outbound = next ?? outbound
      const needed = deployments.map(({ apiBase, timeouts }) => keyOf(new URL(apiBase).origin, timeouts.connectMs))
      const kept = new Set(next ? [] : needed)
      for (const [key, pool] of pools) {
        if (kept.has(key)) continue
        pools.delete(key)
        leaving.add(pool)
        const gone = () => void leaving.delete(pool)
        pool.close().then(gone, gone)
      }
      // A call that began before may still come for its route: it then gets a new pool.
      routes.clear()
    },
    async close() {
      await Promise.all([...pools.values(), ...leaving].map(pool => pool.destroy()))
    },
  }
}

const keyOf = (origin: string, connectMs: number): string => `${origin} ${connectMs}`

type Connect = ReturnType<Outbound['connect']>

/** undici's own timer for this is late by up to a second. It still closes the socket that is given up here. */
function withinTime(connect: Connect, timeoutMs: number): Connect {
  return (options, done) => {
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      done(new errors.ConnectTimeoutError(`no connection within ${timeoutMs} ms`), null)
    }, timeoutMs)
    connect(options, (...[error, socket]) => {
      clearTimeout(timer)
      if (isOver) socket?.destroy()
      else if (error) done(error, null)
      else if (socket) done(null, socket)
    })
  }
}
