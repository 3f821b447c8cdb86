import type { LocalService } from '../../../src/cli/local-service.ts'
import { runCommandLine } from '../../../src/cli/program.ts'
import type { World } from '../../../src/cli/world.ts'
import type { SessionEvent } from '../../../src/contract/events.ts'
import { sseFrame } from '../../../src/contract/sse.ts'

/** One request as a scripted service saw it. */
export interface SeenRequest {
  /** `POST /session`, with the query. */
  readonly call: string
  readonly headers: Headers
  readonly body: unknown
  /** Present for a form. */
  readonly form: FormData | undefined
  readonly signal: AbortSignal | undefined
}

/** Answers by `METHOD /path`, with or without the query; anything else is a 404. */
export type Answers = Readonly<Record<string, (request: SeenRequest) => Response | Promise<Response>>>

/** True for the search of an object by its name, which commands send before their own request. */
const isSearch = ({ call }: SeenRequest): boolean => /^GET .*[?&]limit=200(&|$)/.test(call)

/**
 * A `fetch` that is answered by `answers` and remembers what was asked, without the searches for names that no answer
 * is given for.
 */
export function scriptedService(answers: Answers): { fetch: typeof fetch; seen: SeenRequest[] } {
  const seen: SeenRequest[] = []
  const answer: typeof fetch = async (input, init = {}) => {
    const { pathname, search } = new URL(String(input))
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    const signal = init.signal ?? undefined
    const form = init.body instanceof FormData ? init.body : undefined
    const headers = new Headers(init.headers)
    const request = { call: `${init.method} ${pathname}${search}`, headers, body, form, signal }
    const respond = answers[request.call] ?? answers[`${init.method} ${pathname}`]
    if (respond || !isSearch(request)) seen.push(request)
    if (respond) return respond(request)
    return Response.json({ error: { type: 'gateway_error', message: 'no such path' } }, { status: 404 })
  }
  return { fetch: answer, seen }
}

/** Session `s`'s event stream that brings `events` after what the reader has, and then stays open. */
export function streamOf(events: readonly SessionEvent[]): (request: SeenRequest) => Response {
  return ({ headers, signal }) => {
    const after = Number(headers.get('last-event-id') ?? 0)
    const frames = events
      .filter(event => event.seq > after)
      .map(event => sseFrame({ id: String(event.seq), event: event.type, data: JSON.stringify(event) }))
    const body = new ReadableStream({
      start(controller) {
        signal?.addEventListener('abort', () => controller.error(signal.reason))
        controller.enqueue(new TextEncoder().encode(`retry: 2000\n\n${frames.join('')}`))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

const refuse = () => Promise.reject(new Error('this command line has no server of its own'))

/** A server that none of the commands may use. */
export const noService: LocalService = {
  configure: refuse,
  start: refuse,
  findRunning: async () => [],
  examine: refuse,
  examinePort: refuse,
  upgrade: refuse,
  secrets: { status: refuse, reseal: refuse, forget: refuse },
  backups: { make: refuse, check: refuse, restore: refuse, checkDatabase: refuse },
  liteLlm: { convert: refuse, importKeys: refuse },
}

/** What a command line printed, and its exit code. */
export interface Printed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command line in its own world; parts of the world can be given. */
export async function runLine(args: readonly string[], world: Partial<World> = {}): Promise<Printed> {
  const printed = { stdout: '', stderr: '' }
  const code = await runCommandLine(args, {
    env: {},
    nodeVersion: '24.0.0',
    stdin: { isTerminal: false, read: async () => '' },
    stdout: {
      write(text) {
        printed.stdout += text
      },
    },
    stderr: {
      write(text) {
        printed.stderr += text
      },
    },
    isTerminal: false,
    isErrorTerminal: false,
    hasColours: false,
    stop: new AbortController().signal,
    onHangUp: undefined,
    server: noService,
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
    nowMs: () => 0,
    ...world,
  })
  return { code, ...printed }
}
