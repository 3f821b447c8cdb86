import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import type { Duplex } from 'node:stream'
import type { KubernetesAccess } from '../../config/agent-settings.ts'
import { isRecord, type Json, jsonOr } from '../../platform/json.ts'
import { linesOf } from '../../platform/lines.ts'
import { pause } from '../../platform/timers.ts'
import { errorOfAnswer, isTransient, KubernetesError } from './kubernetes-error.ts'
import type { KubernetesTimes } from './times.ts'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path with its query. */
  readonly path: string
  readonly body?: Json
  readonly signal?: AbortSignal | undefined
}

interface Upgrade {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** A connection that has changed to another protocol. */
export interface Upgraded {
  readonly response: IncomingMessage
  readonly socket: Duplex
  /** The first bytes of the new protocol. */
  readonly head: Buffer
}

/**
 * Requests to the Kubernetes API server. They reject with `KubernetesError`, or with the reason of their signal. The files
 * of the token and of the certificate authority are read for every request, because Kubernetes replaces both.
 */
export interface KubernetesApi {
  /** Retries transient failures. */
  call(call: Call): Promise<Json>
  /** Yields the events of one watch until the server ends it. */
  watch(path: string, signal: AbortSignal): AsyncGenerator<Json>
  upgrade(upgrade: Upgrade): Promise<Upgraded>
  close(): void
}

const attemptMs = 10_000
const maxRetryAfterMs = 10_000
const firstPauseMs = 100
const maxAnswerBytes = 8 * 1024 * 1024
/** Maximum time without data on a watch; bookmarks arrive about once a minute. */
const watchSilenceMs = 120_000

/** Opens no connection before the first call. */
export function createKubernetesApi(
  access: KubernetesAccess,
  { retryMs }: Pick<KubernetesTimes, 'retryMs'>,
): KubernetesApi {
  const agent = new Agent({ keepAlive: true, timeout: 0 })
  const origin = new URL(access.server)
  const options = async (path: string): Promise<RequestOptions> => {
    const [token, ca] = await Promise.all([readText(access.tokenFile), readText(access.caFile)])
    return {
      agent,
      ca,
      host: origin.hostname.replace(/^\[|\]$/g, ''),
      port: origin.port || 443,
      path: `${origin.pathname.replace(/\/$/, '')}${path}`,
      headers: { authorization: `Bearer ${token.trim()}`, accept: 'application/json', 'user-agent': 'switchyard' },
    }
  }

  const once = async ({ method, path, body, signal }: Call): Promise<Json> => {
    const timeout = AbortSignal.timeout(Math.min(attemptMs, retryMs))
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout
    const base = await options(path)
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const content = body && JSON.stringify(body)
    // Node sends the body of a DELETE without a length, which makes the request invalid.
    const length = content && { 'content-type': type, 'content-length': Buffer.byteLength(content) }
    const headers = { ...base.headers, ...length }
    const answer = await sent({ ...base, method, headers, signal: either }, content)
    const text = await textOfAnswer(answer)
    const { statusCode: status = 0 } = answer
    if (status < 200 || status > 299) throw errorOfAnswer({ status, retryAfter: answer.headers['retry-after'], text })
    const value = jsonOr(text, undefined)
    if (!isRecord(value)) throw new KubernetesError('response is not a JSON object', { status: 502 })
    return value
  }

  return {
    async call(call) {
      const endMs = performance.now() + retryMs
      for (let attempt = 0; ; attempt++) {
        try {
          return await once(call)
        } catch (error) {
          call.signal?.throwIfAborted()
          const failure = failureOf(error)
          const waitMs = Math.min(failure.retryAfterMs ?? firstPauseMs * 2 ** attempt, maxRetryAfterMs)
          if (!isTransient(failure) || performance.now() + waitMs > endMs) throw failure
          await pause(waitMs, call.signal)
        }
      }
    },

    async *watch(path, signal) {
      try {
        const answer = await sent({ ...(await options(path)), method: 'GET', signal, timeout: watchSilenceMs })
        const { statusCode: status = 0 } = answer
        if (status !== 200)
          throw errorOfAnswer({ status, retryAfter: answer.headers['retry-after'], text: await textOfAnswer(answer) })
        for await (const line of linesOf(answer)) {
          const event = jsonOr(line, undefined)
          if (!isRecord(event)) throw new KubernetesError('event of a watch is not a JSON object')
          yield event
        }
      } catch (error) {
        signal.throwIfAborted()
        throw failureOf(error)
      }
    },

    async upgrade({ path, headers, signal }) {
      try {
        const base = await options(path)
        return await upgraded({
          ...base,
          method: 'GET',
          agent: false,
          headers: { ...base.headers, ...headers },
          signal,
        })
      } catch (error) {
        throw failureOf(error)
      }
    },

    close: () => agent.destroy(),
  }
}

async function readText(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((cause: Error) => {
    throw new KubernetesError(`cannot read ${file}: ${cause.message}`, { cause })
  })
}

function sent(options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = request(options, resolve)
  outgoing.on('error', reject)
  outgoing.on('timeout', () => outgoing.destroy(new Error('no data')))
  outgoing.end(body)
  return promise
}

function upgraded(options: RequestOptions): Promise<Upgraded> {
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded>()
  const outgoing = request(options)
  outgoing.on('error', reject)
  outgoing.on('upgrade', (response, socket, head) => resolve({ response, socket, head }))
  outgoing.on('response', answer => {
    const { statusCode: status = 0 } = answer
    const retryAfter = answer.headers['retry-after']
    textOfAnswer(answer).then(text => reject(errorOfAnswer({ status, retryAfter, text })), reject)
  })
  outgoing.end()
  return promise
}

async function textOfAnswer(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length
    if (bytes > maxAnswerBytes) throw new KubernetesError(`response exceeds ${maxAnswerBytes} bytes`, { status: 502 })
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function failureOf(error: unknown): KubernetesError {
  if (error instanceof KubernetesError) return error
  const { name, message, code } = error as NodeJS.ErrnoException
  const isLate = name === 'TimeoutError' || name === 'AbortError'
  return new KubernetesError(isLate ? 'no response in time' : code ? `${code}: ${message}` : message, { cause: error })
}
