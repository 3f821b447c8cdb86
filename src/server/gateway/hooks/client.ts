import type { Dispatcher } from 'undici'
import type { Hook } from '../../config/config.ts'
import type { CancelSignal } from '../../platform/cancel-signal.ts'
import { newId } from '../../platform/ids.ts'
import { isRecord, jsonOr, textIn } from '../../platform/json.ts'
import { blockedReasonFor, type Outbound, OutboundBlocked } from '../../platform/outbound.ts'
import { Pool } from '../../platform/undici.ts'
import { signatureHeaders } from '../../platform/webhook-signature.ts'
import { ownHeaders } from '../upstream/headers.ts'

/** Decision of a hook. */
export type Verdict =
  | { readonly action: 'allow' }
  | { readonly action: 'block'; readonly message: string | undefined }
  | { readonly action: 'replace'; readonly body: unknown }

/** A hook gave no valid answer. `message` contains no address; `cause` is for the log. */
export class HookFailure extends Error {}

/** Requests to hooks. */
export interface HookClient {
  /** Sends one request. Rejects with HookFailure, also when `leaving` aborts. */
  send(hook: Hook, body: string, leaving: CancelSignal | undefined): Promise<Verdict>
  /** Closes connections, each after its request in flight. */
  retire(): void
  /** Aborts all requests. */
  close(): Promise<void>
}

/** Equals the maximum body of a call, which `replace` may return. */
const maxAnswerBytes = 32 * 1024 * 1024
const maxMessageLength = 2_000

/** Creates a client. Connections pass the guard of `outbound` and are reused. */
export function createHookClient(outbound: Outbound): HookClient {
  const pools = new Map<string, Dispatcher>()
  const poolFor = (origin: string): Dispatcher => {
    const existing = pools.get(origin)
    if (existing) return existing
    // The timeout of each request includes the time to connect.
    const timeouts = { headersTimeout: 0, bodyTimeout: 0 }
    const pool = new Pool(origin, { connect: outbound.connect(30_000), connections: null, pipelining: 1, ...timeouts })
    pools.set(origin, pool)
    return pool
  }
  return {
    async send(hook, body, leaving) {
      const rejection = blockedReasonFor(hook.url, outbound)
      if (rejection !== undefined) throw new HookFailure('its address is not allowed', { cause: rejection })
      const { origin, pathname, search } = new URL(hook.url)
      const headers = { ...ownHeaders, 'x-switchyard-hook': hook.name, ...signed(hook, body) }
      const request: Dispatcher.DispatchOptions = { method: 'POST', path: `${pathname}${search}`, headers, body }
      return verdictOf(await exchange(poolFor(origin), request, { timeoutMs: hook.timeoutMs, leaving }))
    },
    retire() {
      for (const pool of pools.values()) pool.close().catch(() => {})
      pools.clear()
    },
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
    },
  }
}

function signed({ secret }: Hook, body: string): Record<string, string> {
  if (secret === undefined) return {}
  return signatureHeaders({ id: newId('msg'), timestamp: Math.floor(Date.now() / 1_000), body }, [secret])
}

interface Bounds {
  readonly timeoutMs: number
  readonly leaving: CancelSignal | undefined
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a request and reads its answer. Rejects after its timeout, and when `leaving` aborts. */
function exchange(pool: Dispatcher, request: Dispatcher.DispatchOptions, { timeoutMs, leaving }: Bounds) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const chunks: Buffer[] = []
  let status = 0
  let size = 0
  let controller: Dispatcher.DispatchController | undefined
  let given: HookFailure | undefined
  const giveUp = (failure: HookFailure): void => {
    given = failure
    controller?.abort(failure)
    reject(failure)
  }
  const timer = setTimeout(() => giveUp(new HookFailure(`no answer within ${timeoutMs} ms`)), timeoutMs)
  const onAbort = () => giveUp(new HookFailure('the call was aborted'))
  leaving?.addEventListener('abort', onAbort, { once: true })
  if (leaving?.aborted) onAbort()
  else
    pool.dispatch(request, {
      onRequestStart(started) {
        controller = started
        // The request was given up while it was connecting.
        if (given) started.abort(given)
      },
      onResponseStart(_controller, answered) {
        status = answered
      },
      onResponseData(_controller, chunk) {
        chunks.push(chunk)
        size += chunk.length
        if (size > maxAnswerBytes) giveUp(new HookFailure('its answer is larger than 32 MB'))
      },
      onResponseEnd: () => resolve({ status, text: Buffer.concat(chunks).toString('utf8') }),
      onResponseError: (_controller, error) => reject(given ?? unreachable(error)),
    })
  return promise.finally(() => {
    clearTimeout(timer)
    leaving?.removeEventListener('abort', onAbort)
  })
}

function unreachable(error: Error): HookFailure {
  if (error instanceof OutboundBlocked) return new HookFailure('its address is not allowed', { cause: error })
  const { code } = error as NodeJS.ErrnoException
  return new HookFailure(`it cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`, { cause: error })
}

function verdictOf({ status, text }: Answer): Verdict {
  if (status !== 200) throw new HookFailure(`it answered with status ${status}`)
  const answer = jsonOr(text, undefined)
  if (!isRecord(answer)) throw new HookFailure('its answer is not a JSON object')
  switch (answer['action']) {
    case 'allow':
      return { action: 'allow' }
    case 'block':
      return { action: 'block', message: textIn(answer['message'])?.slice(0, maxMessageLength) }
    case 'replace':
      return { action: 'replace', body: answer['body'] }
    default:
      throw new HookFailure('action in its answer must be allow, block or replace')
  }
}
