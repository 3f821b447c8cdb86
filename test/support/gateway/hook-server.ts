import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Hook } from '../../../src/server/config/config.ts'
import { onLoopback } from '../service/on-loopback.ts'

type Json = Readonly<Record<string, unknown>>

/** What a hook is asked. */
export interface HookRequest {
  readonly phase: string
  readonly call: Json & { readonly body: Json | null; readonly model: string; readonly kind: string }
  readonly response?: Json & { readonly body?: unknown; readonly events?: readonly Json[] }
}

interface GotRequest {
  readonly asked: HookRequest
  readonly text: string
  readonly headers: IncomingHttpHeaders
  /** Resolves once the answer is out, or the connection is closed: whether it was answered. */
  readonly closed: Promise<boolean>
}

/** An answer; text is sent as it is, `hang` never answers. */
type HookAnswer = object | string | 'hang'

/** A program that is asked about calls, and answers what `say` returns for them; `allow` by default. */
export async function startHookServer() {
  const got: GotRequest[] = []
  let waiting: { readonly count: number; readonly resolve: () => void }[] = []
  let answerFor: (asked: HookRequest) => HookAnswer = () => ({ action: 'allow' })
  let status = 200
  const server = createServer(async (request, response) => {
    const closed = new Promise<boolean>(resolve => response.once('close', () => resolve(response.writableFinished)))
    const body = await text(request)
    const asked = JSON.parse(body) as HookRequest
    got.push({ asked, text: body, headers: request.headers, closed })
    for (const { count, resolve } of waiting) if (got.length >= count) resolve()
    waiting = waiting.filter(({ count }) => got.length < count)
    const said = answerFor(asked)
    if (said === 'hang') return
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof said === 'string' ? said : JSON.stringify(said))
  })
  const { host, url, close } = await onLoopback(server)
  return {
    host,
    url: `${url}/hook?team=a`,
    got: got as readonly GotRequest[],
    last: (): GotRequest => {
      const found = got.at(-1)
      if (!found) throw new Error('the hook was not asked')
      return found
    },
    /** Resolves once it was asked so often. */
    asked: (count: number) =>
      new Promise<void>(resolve => {
        if (got.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    answer(given: HookAnswer | ((asked: HookRequest) => HookAnswer), withStatus = 200) {
      answerFor = typeof given === 'function' ? (given as (asked: HookRequest) => HookAnswer) : () => given
      status = withStatus
    },
    stop: close,
  }
}

export type HookServer = Awaited<ReturnType<typeof startHookServer>>

/** A hook at `url` as a configuration would make it. */
export const hookAt = (url: string, changes: Partial<Hook> = {}): Hook => ({
  name: 'guard',
  url,
  phase: 'pre',
  timeoutMs: 10_000,
  onError: 'block',
  models: [],
  keys: [],
  bufferStream: false,
  secret: undefined,
  ...changes,
})

/** An answer that masks a word anywhere in what the hook is asked about. */
export function masking(word: string): (asked: HookRequest) => object {
  const masked = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(word, '[masked]'))
  return ({ phase, call, response }) => ({
    action: 'replace',
    body: masked(phase === 'pre' ? call.body : (response?.events ?? response?.body)),
  })
}
