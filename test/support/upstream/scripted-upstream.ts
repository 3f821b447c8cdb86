import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onLoopback } from '../service/on-loopback.ts'
import { anthropicMessages } from './dialects/anthropic-messages.ts'
import type { Dialect } from './dialects/dialect.ts'
import { markerScript } from './marker-script.ts'
import { type Answer, play } from './scripted-answer.ts'

/** One request as it came in. */
export interface Recorded {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly rawBody: Buffer
  readonly body: Readonly<Record<string, unknown>>
  /** Resolves when the answer is out, or its connection is closed. */
  readonly closed: Promise<void>
}

/** Answers in order, the last one for ever; or a function of the request and of its number, counted from 0. */
export type Script = readonly Answer[] | ((request: Recorded, index: number) => Answer | Promise<Answer>)

interface Options {
  /** `markerScript` by default. */
  readonly script?: Script
  /** How it speaks; in Anthropic's format by default. */
  readonly dialect?: Dialect
  /** What its route for counting tokens answers, 42 by default; `absent` is a server without that route. */
  readonly countTokens?: number | 'absent'
  /** A free one by default. */
  readonly port?: number
}

export type ScriptedUpstream = Awaited<ReturnType<typeof startScriptedUpstream>>

/** Starts a local server of a provider's protocol that plays its script. Works below any path prefix. */
export async function startScriptedUpstream({
  script = markerScript,
  dialect = anthropicMessages,
  countTokens = 42,
  port = 0,
}: Options = {}) {
  const requests: Recorded[] = []
  const countRequests: Recorded[] = []
  let connections = 0
  const entrance = createGate()
  const frames = createGate()
  const arrivals = createArrivals(requests)
  let open = 0
  let outputTokens = 0

  const release = (): void => {
    entrance.open()
    frames.open()
  }

  const onCall = async (recorded: Recorded, response: ServerResponse, isStream: boolean): Promise<void> => {
    const index = requests.push(recorded) - 1
    const answer =
      typeof script === 'function' ? await script(recorded, index) : (script[Math.min(index, script.length - 1)] ?? {})
    arrivals.check()
    await entrance.pass()
    outputTokens += await play({
      answer,
      request: recorded.body,
      dialect,
      isStream,
      response,
      index,
      hold: frames.holdHere,
    })
  }

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    open++
    response.once('close', () => open--)
    const recorded = await record(request, response)
    const asked = dialect.requestKind((request.url ?? '').split('?')[0] ?? '', recorded.body)
    if (asked === 'stream' || asked === 'whole') return onCall(recorded, response, asked === 'stream')
    if (asked === 'embeddings') {
      requests.push(recorded)
      return sendJson(response, { status: 200, body: dialect.embeddings?.(recorded.body) })
    }
    if (asked === 'count') countRequests.push(recorded)
    if (asked === undefined || countTokens === 'absent') sendJson(response, { status: 404, body: notFound })
    else sendJson(response, { status: 200, body: dialect.count(countTokens) })
  }

  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    // A connection that breaks is a case under test, not a fault of this server.
    response.on('error', () => undefined)
    if (path.endsWith('/v1/models')) sendJson(response, { status: 200, body: { data: [], has_more: false } })
    else if (request.method !== 'POST') sendJson(response, { status: 404, body: notFound })
    else void onRequest(request, response).catch(() => response.destroy())
  })
  server.on('connection', () => {
    connections++
  })
  const loopback = await onLoopback(server, port)

  return {
    /** `http://127.0.0.1:port`. */
    url: loopback.url,
    port: loopback.port,
    /** Requests for an answer, oldest first. */
    requests: requests as readonly Recorded[],
    countRequests: countRequests as readonly Recorded[],
    /** Sum of the output tokens that whole answers stated. */
    get outputTokens() {
      return outputTokens
    },
    /** Connections that were ever made. */
    get connections() {
      return connections
    },
    /** Requests in flight. */
    get open() {
      return open
    },
    /** From now on every answer waits before its head. */
    hold: entrance.close,
    /** Resumes what is paused, before its head or at a frame. */
    release,
    /** Resolves once `count` requests for an answer have come in. */
    received: arrivals.until,
    async stop(): Promise<void> {
      release()
      await loopback.close()
    },
  }
}

async function record(request: IncomingMessage, response: ServerResponse): Promise<Recorded> {
  const closed = new Promise<void>(resolve => response.once('close', () => resolve()))
  const rawBody = await buffer(request)
  return { url: request.url ?? '', headers: request.headers, rawBody, body: JSON.parse(rawBody.toString()), closed }
}

function createGate() {
  let waiting: PromiseWithResolvers<void> | undefined
  const close = () => {
    waiting ??= Promise.withResolvers<void>()
  }
  return {
    close,
    open() {
      waiting?.resolve()
      waiting = undefined
    },
    pass: async () => waiting?.promise,
    holdHere: async () => {
      close()
      await waiting?.promise
    },
  }
}

function createArrivals(requests: readonly unknown[]) {
  let waiting: { readonly count: number; readonly resolve: () => void }[] = []
  return {
    check() {
      for (const { count, resolve } of waiting) if (requests.length >= count) resolve()
      waiting = waiting.filter(({ count }) => requests.length < count)
    },
    until: (count: number) =>
      new Promise<void>(resolve => {
        if (requests.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
  }
}

const notFound = { type: 'error', error: { type: 'not_found_error', message: 'Not found' } }

function sendJson(response: ServerResponse, { status, body }: { status: number; body: unknown }): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
