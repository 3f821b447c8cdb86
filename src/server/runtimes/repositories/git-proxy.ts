import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Log } from '../../platform/log.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { type GitAddress, isRepositoryPath, withoutSuffix } from './git-address.ts'
import type { GitCredential } from './git-credentials.ts'
import { sendUpstream, UpstreamProblem } from './git-upstream.ts'
import type { PackCache, PackWrite } from './pack-cache.ts'
import { MalformedPush, type PushHead, pushProblem, readPushHead, rejectionReport } from './push-commands.ts'

/** What git in the sandbox of a session may do while a prompt runs. Security: S59. */
export interface GitGrant {
  readonly ownerId: string
  readonly address: GitAddress
  readonly credential: GitCredential
  /** The only branch that may be pushed. */
  readonly branch: string
  /** Paths of submodules at the same host, without `.git`; they may be read. */
  readonly submodules: Set<string>
  /** Why the last request failed; undefined after a good one. */
  problem: string | undefined
  /** Pushes that the host has processed. */
  pushes: number
}

interface Deps {
  readonly guard: () => Outbound
  readonly cache: PackCache
  readonly log: Pick<Log, 'warn'>
  /** Size of a fetch or push; larger ones are aborted. 1 GiB by default. */
  readonly maxPackBytes?: number
}

/**
 * Serves git's HTTP protocol to the sandboxes of sessions: adds the credential, and passes requests on for the session's
 * repository only. The credential never enters a sandbox.
 */
export type GitProxy = ReturnType<typeof createGitProxy>

type Service = 'git-upload-pack' | 'git-receive-pack'

interface Route {
  /** As git sent it. */
  readonly path: string
  readonly service: Service
  readonly isListing: boolean
}

const MiB = 1024 * 1024
const defaultPackBytes = 1024 * MiB
const maxListingBytes = 64 * MiB
/** Requests of at most this size can be served from the cache. */
const maxCachedRequestBytes = 64 * 1024

export function createGitProxy({ guard, cache, log, maxPackBytes = defaultPackBytes }: Deps) {
  const grants = new Map<string, GitGrant>()
  /** Repositories that the host has listed to a grant: only then the cache may answer in its place. */
  const listed = new WeakMap<GitGrant, Set<string>>()

  async function serve(request: IncomingMessage, response: ServerResponse, grant: GitGrant): Promise<void> {
    const route = routeOf(request)
    if (!route) return rejectRequest(response, 404, 'only fetches and pushes of git over HTTP are served here')
    const isOwn = withoutSuffix(route.path) === withoutSuffix(grant.address.path)
    const isRead = route.service === 'git-upload-pack' && grant.submodules.has(withoutSuffix(route.path))
    if (!isOwn && !isRead) return rejectRequest(response, 403, 'this session may use its own repository only')
    const task = { request, response, grant, route }
    if (route.isListing) return relay(task, { body: undefined, maxBytes: maxListingBytes })
    return route.service === 'git-receive-pack' ? push(task) : fetch(task)
  }

  async function fetch(task: Task): Promise<void> {
    const { request, response, grant, route } = task
    const { head, rest } = await readHead(request)
    if (rest) return relay(task, { body: rest, maxBytes: maxPackBytes })
    if (!isFirstFetch(request, head)) return relay(task, { body: head, maxBytes: maxPackBytes })
    const { ownerId, address, credential } = grant
    const key = { ownerId, credential: credential.secret?.value, url: `${address.origin}${route.path}`, body: head }
    const cached = listed.get(grant)?.has(withoutSuffix(route.path)) ? await cache.read(key) : undefined
    if (cached) {
      response.writeHead(200, { 'content-type': typeOf(route) })
      return pipeline(cached, response)
    }
    const write = await cache.write(key).catch((cause: unknown) => {
      log.warn({ err: cause }, 'cannot store a fetched pack in the cache')
      return undefined
    })
    try {
      await relay(task, { body: head, maxBytes: maxPackBytes, write })
      await write?.commit()
    } finally {
      await write?.abort()
    }
  }

  async function push(task: Task): Promise<void> {
    const { request, response, grant, route } = task
    if (request.headers['content-encoding'] !== undefined)
      return rejectRequest(response, 415, 'compressed requests of pushes are not supported')
    const body = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    let head: PushHead
    try {
      head = await readPushHead(body)
    } catch (error) {
      if (!(error instanceof MalformedPush)) throw error
      return rejectRequest(response, 400, error.message)
    }
    const problem = pushProblem(head, grant.branch)
    if (problem === undefined) {
      const all = Readable.from(limited(joined(head.bytes, body), maxPackBytes))
      await relay(task, { body: all, maxBytes: maxListingBytes })
      if (head.commands.length > 0) grant.pushes++
      return
    }
    // git reads the report only after it has sent all objects.
    for await (const _chunk of limited(joined(Buffer.alloc(0), body), maxPackBytes));
    response.writeHead(200, { 'content-type': typeOf(route) }).end(rejectionReport(head, problem))
  }

  async function relay(task: Task, { body, maxBytes, write }: Relayed): Promise<void> {
    const { request, response, grant, route } = task
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const { address, credential } = grant
    const upstream = await sendUpstream(guard(), {
      ...{ address, credential, body, headers: request.headers, signal: gone.signal, expected: typeOf(route) },
      method: route.isListing ? 'GET' : 'POST',
      target: targetOf(route),
    })
    try {
      response.writeHead(200, { 'content-type': typeOf(route), 'cache-control': 'no-cache' })
      await pipeline(limited(upstream.body, maxBytes), copying(write), response)
      grant.problem = undefined
      if (route.isListing) listed.set(grant, (listed.get(grant) ?? new Set()).add(withoutSuffix(route.path)))
    } catch (error) {
      // git can end before the connection to the host is closed, and the problem is read then.
      if (error instanceof TooLarge) grant.problem = error.message
      throw error
    } finally {
      await upstream.close()
    }
  }

  return {
    /** Allows git in the sandbox of a session; the returned function revokes it. */
    grant(sessionId: string, grant: GitGrant): () => void {
      grants.set(sessionId, grant)
      return () => {
        if (grants.get(sessionId) === grant) grants.delete(sessionId)
      }
    },

    /** Serves one request that came from the sandbox of a session. */
    handle(request: IncomingMessage, response: ServerResponse, sessionId: string): void {
      const grant = grants.get(sessionId)
      if (!grant) {
        rejectRequest(response, 403, 'this session has no repository, or no prompt is running')
        return
      }
      serve(request, response, grant).catch((cause: unknown) => {
        const isOwnText = cause instanceof UpstreamProblem || cause instanceof TooLarge
        // A client that is gone is no problem of the host.
        if (!isOwnText && response.closed) return
        grant.problem = isOwnText ? cause.message : `connection to ${grant.address.host} failed`
        if (!isOwnText) log.warn({ err: cause, session_id: sessionId }, 'a request of git failed')
        if (response.headersSent) response.destroy()
        else rejectRequest(response, 403, grant.problem)
      })
    },
  }
}

interface Task {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly grant: GitGrant
  readonly route: Route
}

interface Relayed {
  readonly body: Readable | Buffer | undefined
  /** Maximum size of the response. */
  readonly maxBytes: number
  readonly write?: PackWrite | undefined
}

/** The response or push exceeds the limit. */
class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Reads the route of a request; undefined for anything but git's smart protocol. */
function routeOf({ method, url = '' }: IncomingMessage): Route | undefined {
  const [path = '', query, ...more] = (URL.parse(url)?.pathname === undefined ? url : pathOfAbsolute(url)).split('?')
  if (more.length > 0) return undefined
  const [, listed, service] = /^(.+)\/(info\/refs|git-upload-pack|git-receive-pack)$/.exec(path) ?? []
  if (listed === undefined || service === undefined || !isRepositoryPath(listed)) return undefined
  if (service !== 'info/refs')
    return method === 'POST' && query === undefined
      ? { path: listed, service: service as Service, isListing: false }
      : undefined
  const [, asked] = /^service=(git-upload-pack|git-receive-pack)$/.exec(query ?? '') ?? []
  return method === 'GET' && asked !== undefined
    ? { path: listed, service: asked as Service, isListing: true }
    : undefined
}

/** Requests to a proxy have an absolute URL. */
function pathOfAbsolute(url: string): string {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

const typeOf = ({ service, isListing }: Route): string =>
  `application/x-${service}-${isListing ? 'advertisement' : 'result'}`

const targetOf = ({ path, service, isListing }: Route): string =>
  isListing ? `${path}/info/refs?service=${service}` : `${path}/${service}`

/** git shows a text to the user. */
function rejectRequest(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`)
}

/** Reads the whole body, or its start with a stream of all of it when it is longer than the cache accepts. */
async function readHead(request: IncomingMessage): Promise<{ head: Buffer; rest?: Readable }> {
  const chunks: Buffer[] = []
  let bytes = 0
  const body = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  while (bytes <= maxCachedRequestBytes) {
    const { value, done } = await body.next()
    if (done) return { head: Buffer.concat(chunks) }
    chunks.push(value)
    bytes += value.length
  }
  const head = Buffer.concat(chunks)
  return { head, rest: Readable.from(limited(joined(head, body), maxListingBytes)) }
}

/** True for a fetch of named commits by a client that has none: its response depends on the request only. */
function isFirstFetch({ headers }: IncomingMessage, body: Buffer): boolean {
  const isKnownForm = headers['git-protocol'] === 'version=2' && headers['content-encoding'] === undefined
  const text = body.toString('latin1')
  return (
    isKnownForm &&
    text.includes('command=fetch') &&
    /want [0-9a-f]{40}/.test(text) &&
    text.includes('done') &&
    !/have [0-9a-f]{40}/.test(text)
  )
}

async function* joined(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

async function* limited(parts: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const part of parts) {
    bytes += part.length
    if (bytes > maxBytes) throw new TooLarge(`the transfer exceeds ${Math.floor(maxBytes / MiB)} MiB`)
    yield part
  }
}

/** Stores what passes. */
const copying = (write: PackWrite | undefined): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!write) return done(null, chunk)
      write.add(chunk).then(
        () => done(null, chunk),
        () => done(null, chunk),
      )
    },
  })
