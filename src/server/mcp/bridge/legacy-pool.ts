import { AppError } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import type { AnswerRequest, LegacySession } from '../client/legacy.ts'
import { openLegacy, refuse } from '../client/legacy.ts'
import type { Upstream } from '../client/upstream.ts'
import type { RegisteredServer } from '../registry/server.ts'

/** Whose sessions at which server, with which capabilities of the client. */
export interface SessionPlace {
  readonly server: RegisteredServer
  readonly principal: string
  readonly capabilities: Json
}

/** Who gets messages of the server while it uses a session. */
interface User {
  readonly onMessage: (message: RpcMessage) => void
  readonly onRequest: AnswerRequest
}

/** A session at a server that one request uses at a time. */
export interface PooledSession extends LegacySession {
  /** Level of log messages that was set last. */
  level: string | undefined
  /** Messages outside of any request go to the user. */
  user: User | undefined
}

/** A session that belongs to one request until it is released. */
export interface AcquiredSession {
  readonly session: PooledSession
  release(state: 'usable' | 'broken'): void
}

interface Entry {
  readonly key: string
  readonly session: PooledSession
  readonly closed: AbortController
  isStreamOpen: boolean
  freeMs: number
}

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
  readonly nowMs: () => number
}

const openMs = 30_000
const idleMs = 5 * 60_000
const sweepMs = 60_000
/** Sessions of one principal at one server that are in use at the same time. */
const maxInUse = 64

/**
 * Sessions at legacy servers for modern clients. A modern request belongs to no session, but a legacy server asks and
 * notifies within one: so each request has a session for itself, and messages that name no request belong to it.
 */
export type LegacyPool = ReturnType<typeof createLegacyPool>

export function createLegacyPool({ upstream, nextId, nowMs }: Deps) {
  /** The one that was used last comes last. */
  const free = new Map<string, Entry[]>()
  const inUse = new Map<string, number>()

  const sweep = setInterval(() => {
    for (const [key, entries] of free) {
      const isIdle = ({ freeMs }: Entry) => freeMs < nowMs() - idleMs
      for (const entry of entries.filter(isIdle)) end(entry)
      const left = entries.filter(entry => !isIdle(entry))
      if (left.length > 0) free.set(key, left)
      else free.delete(key)
    }
  }, sweepMs)
  sweep.unref()

  function end({ session, closed }: Entry): void {
    closed.abort()
    // The server forgets an abandoned session by itself.
    session.end().catch(() => undefined)
  }

  async function opened(key: string, { server, capabilities }: SessionPlace): Promise<Entry> {
    const found = await openLegacy(server, AbortSignal.timeout(openMs), { upstream, nextId, capabilities })
    const session: PooledSession = { ...found, level: undefined, user: undefined }
    return { key, session, closed: new AbortController(), isStreamOpen: false, freeMs: 0 }
  }

  /** Opens the stream of a session, on which servers may send what names no request. */
  async function openStream(entry: Entry): Promise<void> {
    const { session, closed } = entry
    entry.isStreamOpen = true
    const stream = await session.listen({
      signal: closed.signal,
      onMessage: message => session.user?.onMessage(message),
      onRequest: message => (session.user?.onRequest ?? refuse)(message),
    })
    // A server without a stream is not asked again.
    void stream?.ended.then(() => {
      entry.isStreamOpen = false
    })
  }

  /** Returns a session for one request, which must release it. A broken session is not used again. */
  async function acquire(place: SessionPlace): Promise<AcquiredSession> {
    const { server, principal, capabilities } = place
    const key = JSON.stringify([server.server_id, server.version, server.url, principal, capabilities])
    const count = (inUse.get(key) ?? 0) + 1
    if (count > maxInUse)
      throw new AppError(
        'rate_limited',
        `this key has ${maxInUse} open calls of MCP server ${server.server_name}, its limit; retry after 5 s`,
        { headers: { 'retry-after': '5' } },
      )
    inUse.set(key, count)
    const leave = (): void => {
      const left = (inUse.get(key) ?? 1) - 1
      if (left > 0) inUse.set(key, left)
      else inUse.delete(key)
    }
    try {
      const entry = free.get(key)?.pop() ?? (await opened(key, place))
      if (!entry.isStreamOpen) await openStream(entry)
      return {
        session: entry.session,
        release(state) {
          leave()
          entry.session.user = undefined
          if (state === 'broken') return end(entry)
          entry.freeMs = nowMs()
          free.set(key, [...(free.get(key) ?? []), entry])
        },
      }
    } catch (error) {
      leave()
      throw error
    }
  }

  return {
    acquire,

    /** Ends the free sessions; those in use end with their requests. */
    close(): void {
      clearInterval(sweep)
      for (const entry of [...free.values()].flat()) end(entry)
      free.clear()
    },
  }
}
