import type { Dispatcher } from 'undici'
import type { Deployment } from '../../config/deployments.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { errors, Pool } from '../../platform/undici.ts'

/** Parsed upstream address. */
export interface Route {
  readonly pool: Dispatcher
  /** Path before `/v1/messages`; empty without a prefix. */
  readonly pathPrefix: string
}

/** Keep-alive connections to upstreams. */
export interface Pools {
  /** Connects through the current outbound guard, for requests that are not model calls. */
  readonly connect: Outbound['connect']
  /** Returns the pool and the path prefix of a deployment. */
  routeTo(deployment: Deployment): Route
  /** Closes the pools that `deployments` do not need, once they are idle; all pools when `outbound` is given. */
  reload(change: { readonly deployments: readonly Deployment[]; readonly outbound: Outbound | undefined }): void
  /** Closes all connections, including those in use. */
  close(): Promise<void>
}

/** Creates one pool per origin and connect timeout. Every connection passes the outbound guard. */
export function createPools(firstOutbound: Outbound): Pools {
  let outbound = firstOutbound
  const closing = new Set<Dispatcher>()
  const pools = new Map<string, Dispatcher>()
  const routes = new Map<Deployment, Route>()

  const poolFor = (origin: string, connectMs: number): Dispatcher => {
    const key = keyOf(origin, connectMs)
    const cached = pools.get(key)
    if (cached) return cached
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
      const cached = routes.get(deployment)
      if (cached) return cached
      const { origin, pathname } = new URL(deployment.apiBase)
      const pathPrefix = pathname === '/' ? '' : pathname
      const route = { pool: poolFor(origin, deployment.timeouts.connectMs), pathPrefix }
      routes.set(deployment, route)
      return route
    },
    reload({ deployments, outbound: next }) {
      outbound = next ?? outbound
      const needed = deployments.map(({ apiBase, timeouts }) => keyOf(new URL(apiBase).origin, timeouts.connectMs))
      const retained = new Set(next ? [] : needed)
      for (const [key, pool] of pools) {
        if (retained.has(key)) continue
        pools.delete(key)
        closing.add(pool)
        const closed = () => void closing.delete(pool)
        pool.close().then(closed, closed)
      }
      // A call that started before the reload may still ask for its route; it then gets a new pool.
      routes.clear()
    },
    async close() {
      await Promise.all([...pools.values(), ...closing].map(pool => pool.destroy()))
    },
  }
}

const keyOf = (origin: string, connectMs: number): string => `${origin} ${connectMs}`

type Connect = ReturnType<Outbound['connect']>

/** Adds an exact connect timeout: undici's own timer is up to 1 s late, and only closes the abandoned socket. */
function withinTime(connect: Connect, timeoutMs: number): Connect {
  return (options, done) => {
    let isTimedOut = false
    const timer = setTimeout(() => {
      isTimedOut = true
      done(new errors.ConnectTimeoutError(`no connection within ${timeoutMs} ms`), null)
    }, timeoutMs)
    connect(options, (...[error, socket]) => {
      clearTimeout(timer)
      if (isTimedOut) socket?.destroy()
      else if (error) done(error, null)
      else if (socket) done(null, socket)
    })
  }
}
