import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { onLoopback } from '../service/on-loopback.ts'
import { type FakeSession, type FakeStage, type FakeStep, playTurn, rejection } from './opencode-turn.ts'

interface Options {
  /** What it does, a turn a prompt; the last one for ever. */
  readonly turns: readonly (readonly FakeStep[])[]
  /** Absent: it lets everybody in. */
  readonly password?: string
  /** Has no lists of permissions and questions. */
  readonly isOlder?: boolean
  /** A free one unless given. */
  readonly port?: number
  /** Calls the model; returns 200 by default. */
  readonly callModel?: FakeStage['callModel']
  /** What it was doing before it was started. */
  readonly known?: readonly Pick<FakeSession, 'id' | 'messages'>[]
  /** Receives every event. */
  readonly onEvent?: (sessions: Iterable<FakeSession>) => void
}

/** What a test can do to the server while it runs. */
interface Switches {
  /** Streams stay open without events. */
  isSilent: boolean
  /** Every event is followed by frames that are no events. */
  isGarbled: boolean
  /** Takes the next prompt, and breaks the connection instead of an answer. */
  losesAnswer: boolean
  /** Ends every connection before it answers. */
  isDown: boolean
  /** Answers everything with a page. */
  isPage: boolean
}

interface Waiting {
  readonly kind: 'permission' | 'question'
  readonly asked: Record<string, unknown>
  readonly answer: (reply: { reply: string; message?: string }) => void
}

/** A server that speaks as opencode does: paths, events and their order, without a model. Dialects: sections 2.1 to 2.3. */
export async function startOpencodeFake({
  turns,
  password,
  isOlder = false,
  port: wanted = 0,
  callModel = async () => 200,
  known = [],
  onEvent = () => undefined,
}: Options) {
  const switches: Switches = { isSilent: false, isGarbled: false, losesAnswer: false, isDown: false, isPage: false }
  const requests: { readonly method: string; readonly path: string; readonly body: Record<string, unknown> }[] = []
  const sessions = new Map<string, FakeSession>()
  const waiting = new Map<string, Waiting>()
  const streams = new Set<ServerResponse>()
  for (const { id, messages } of known) sessions.set(id, { id, messages, busy: false, stop: new AbortController() })
  // Ids grow from start to start.
  let count = known.length === 0 ? 0 : Date.now() % 10_000_000
  let turn = known.flatMap(({ messages }) => messages).filter(({ info }) => info['role'] === 'user').length
  let rejections = 0
  let releases: (() => void)[] = []

  const newId = (prefix: string) => `${prefix}_${String(++count).padStart(8, '0')}`
  const send = (type: string, properties: object) => {
    onEvent(sessions.values())
    if (switches.isSilent) return
    const frame = `data: ${JSON.stringify({ id: newId('evt'), type, properties })}\n\n`
    const garbage = switches.isGarbled ? 'data: {"type":\n\ndata: <html>\n\ndata: null\n\ndata: {"type":"x"}\n\n' : ''
    for (const stream of streams) stream.write(frame + garbage)
  }
  const wait = (kind: Waiting['kind'], asked: Record<string, unknown>) =>
    new Promise<{ reply: string; message?: string }>(answer => {
      const id = newId(kind === 'permission' ? 'per' : 'que')
      waiting.set(id, { kind, asked: { id, ...asked }, answer })
    })

  const stage: FakeStage = {
    newId,
    callModel,
    send,
    paused: signal => Promise.race([new Promise<void>(resolve => releases.push(resolve)), rejection(signal)]),
    async permission(asked, older) {
      const reply = wait('permission', asked)
      const open = [...waiting.values()].at(-1)?.asked ?? {}
      send(older ? 'permission.updated' : 'permission.asked', open)
      const said = await reply
      const { id, sessionID } = open
      if (older) send('permission.replied', { sessionID, permissionID: id, response: said.reply })
      else send('permission.replied', { sessionID, requestID: id, reply: said.reply })
      return said
    },
    async question(asked) {
      const reply = wait('question', asked)
      send('question.asked', [...waiting.values()].at(-1)?.asked ?? {})
      await reply
    },
  }

  async function prompt(session: FakeSession, body: Record<string, unknown>): Promise<void> {
    const { id: sessionID } = session
    const info = { id: newId('msg'), sessionID, role: 'user', time: { created: 1 }, model: body['model'] ?? {} }
    const message = { info, parts: [] as Record<string, unknown>[] }
    session.messages.push(message)
    send('message.updated', { sessionID, info })
    const script = turns[Math.min(turn++, turns.length - 1)] ?? []
    await turnOfLoop()
    for (const part of body['parts'] as Record<string, unknown>[]) {
      const whole = { id: newId('prt'), sessionID, messageID: info.id, ...part }
      message.parts.push(whole)
      send('message.part.updated', { sessionID, part: whole, time: 1 })
    }
    session.stop = new AbortController()
    await playTurn(stage, session, script)
  }

  /** By method and path; groups of the path are handed on. */
  const routes: readonly [string, RegExp, (call: Call) => Answer][] = [
    ['GET', /^\/global\/health$/, () => ({ body: { healthy: true, version: '1.18.33' } })],
    ['GET', /^\/config\/providers$/, () => ({ body: { providers: [provider], default: {} } })],
    [
      'POST',
      /^\/session$/,
      ({ body }) => {
        const unknown = Object.keys(body).filter(name => !sessionFields.includes(name))
        if (unknown.length > 0) return { status: 400, body: { _tag: 'BadRequest' } }
        const id = newId('ses')
        sessions.set(id, { id, messages: [], busy: false, stop: new AbortController() })
        return { body: { id, title: body['title'] ?? 'New session', time: { created: 1, updated: 1 } } }
      },
    ],
    [
      'GET',
      /^\/session\/status$/,
      () => ({
        body: Object.fromEntries(
          [...sessions.values()].flatMap(({ id, busy }) => (busy ? [[id, { type: 'busy' }]] : [])),
        ),
      }),
    ],
    [
      'POST',
      /^\/session\/(\w+)\/prompt_async$/,
      ({ session, body, response }) => {
        if (!session) return missing
        void prompt(session, body)
        if (switches.losesAnswer) response.destroy()
        return { status: 204 }
      },
    ],
    [
      'POST',
      /^\/session\/(\w+)\/abort$/,
      ({ session }) => {
        if (!session) return missing
        session.stop.abort()
        return { body: true }
      },
    ],
    [
      'GET',
      /^\/session\/(\w+)\/message$/,
      ({ session, query }) => {
        if (!session) return missing
        return { body: session.messages.slice(-Number(query.get('limit') ?? 1000)) }
      },
    ],
    [
      'GET',
      /^\/session\/(\w+)\/children$/,
      ({ session }) => ({ body: session ? [{ id: `${session.id}_child` }] : [] }),
    ],
    [
      'DELETE',
      /^\/session\/(\w+)$/,
      ({ session }) => (session && sessions.delete(session.id) ? { body: true } : missing),
    ],
    ['GET', /^\/permission$/, () => listOf('permission')],
    ['GET', /^\/question$/, () => listOf('question')],
    ['POST', /^\/permission\/(\w+)\/reply$/, ({ id, body }) => answered(id, body)],
    ['POST', /^\/question\/(\w+)\/reject$/, ({ id }) => answered(id, { reply: 'reject' })],
    ['POST', /^\/session\/\w+\/permissions\/(\w+)$/, ({ id, body }) => answered(id, { reply: body['response'] })],
  ]

  function listOf(kind: Waiting['kind']): Answer {
    if (isOlder) return { status: 404, body: { name: 'NotFoundError', data: { message: 'no such path' } } }
    return { body: [...waiting.values()].filter(open => open.kind === kind).map(({ asked }) => asked) }
  }

  function answered(id: string, body: Record<string, unknown>): Answer {
    const open = waiting.get(id)
    if (!open) return { status: 404, body: { _tag: 'PermissionNotFoundError', requestID: id, message: 'not found' } }
    waiting.delete(id)
    open.answer(body as { reply: string; message?: string })
    return { body: true }
  }

  /** True when the turn has ended. */
  function refused(request: IncomingMessage, response: ServerResponse): boolean {
    const expected = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
    if (switches.isDown) {
      rejections++
      response.destroy()
    } else if (switches.isPage) response.end('<!doctype html><title>OpenCode</title>')
    else if (password !== undefined && request.headers.authorization !== expected) response.writeHead(401).end()
    else return false
    return true
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (refused(request, response)) return
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://fake')
    const method = request.method ?? ''
    if (method === 'GET' && path === '/event') return openStream(response)
    const sent = await text(request)
    const body = sent === '' ? {} : JSON.parse(sent)
    requests.push({ method, path, body })
    const [, pattern, handle] = routes.find(([of, pattern]) => of === method && pattern.test(path)) ?? []
    if (!handle) return void response.writeHead(404).end()
    const id = pattern?.exec(path)?.[1] ?? ''
    const { status = 200, body: answer } = handle({ id, session: sessions.get(id), body, query, response })
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(answer === undefined ? undefined : JSON.stringify(answer))
  }

  function openStream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ id: newId('evt'), type: 'server.connected', properties: {} })}\n\n`)
    streams.add(response)
    response.once('close', () => streams.delete(response))
  }

  const server = createServer((request, response) => {
    response.on('error', () => undefined)
    void serve(request, response).catch(() => response.destroy())
  })
  const { port, url, close } = await onLoopback(server, wanted)

  return {
    url,
    port,
    /** All but the streams, oldest first. */
    requests,
    switches,
    sessions,
    /** Questions and permissions that are open. */
    waiting,
    /** Bodies of the prompts that it took. */
    prompts: () => requests.filter(({ path }) => path.endsWith('/prompt_async')).map(({ body }) => body),
    /** How many connections it broke while it was down. */
    rejections: () => rejections,
    /** A custom event. */
    send,
    /** Lets the turns continue that wait at a `hold`. */
    release(): void {
      for (const resolve of releases) resolve()
      releases = []
    },
    /** How many turns wait at a `hold`. */
    held: () => releases.length,
    /** Ends all streams; events before they are opened again are lost. */
    dropStreams(): void {
      for (const stream of streams) stream.destroy()
      streams.clear()
    },
    /** Forgets what it was doing, as a restart does. */
    restart(): void {
      for (const session of sessions.values()) {
        session.stop.abort('crash')
        session.busy = false
      }
      waiting.clear()
      for (const stream of streams) stream.destroy()
    },
    async stop(): Promise<void> {
      for (const session of sessions.values()) session.stop.abort('crash')
      await close()
    },
  }
}

interface Call {
  readonly id: string
  readonly session: FakeSession | undefined
  readonly body: Record<string, unknown>
  readonly query: URLSearchParams
  readonly response: ServerResponse
}

interface Answer {
  readonly status?: number
  readonly body?: unknown
}

const sessionFields = ['parentID', 'title', 'agent', 'model', 'metadata', 'permission', 'workspaceID']
const missing: Answer = { status: 404, body: { name: 'NotFoundError', data: { message: 'Session not found' } } }
const provider = {
  id: 'anthropic',
  name: 'Anthropic',
  models: { sonnet: { id: 'sonnet', name: 'Sonnet' }, demo: { id: 'demo', name: 'Demo' } },
}
