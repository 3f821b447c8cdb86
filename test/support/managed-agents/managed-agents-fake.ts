import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { type Json, jsonOr, recordOf, recordsOf, textOf } from '../../../src/server/platform/json.ts'
import { onLoopback } from '../service/on-loopback.ts'
import type { Script, Switches } from './managed-agents-fake-script.ts'
import { FakeSession } from './managed-agents-fake-session.ts'

/** One request as it came in. */
export interface FakeRequest {
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: Json
}

/** What goes wrong with a request: a status, or a connection that is lost before or after the server has acted. */
type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | 'lost before'
  | 'lost after'

interface Options {
  /** What the agent does; by default it answers `Hello`. */
  readonly script?: Script
  readonly switches?: Partial<Switches>
  /** The only key that opens it. */
  readonly apiKey?: string
  /** Most events of a page; a reader may ask for less. */
  readonly pageSize?: number
}

export type ManagedAgentsFake = Awaited<ReturnType<typeof startManagedAgentsFake>>

interface Answer {
  readonly status?: number
  readonly body: Json
}

/** Starts a local server of the Managed Agents protocol whose agent plays its script. Dialects: section 1. */
export async function startManagedAgentsFake({
  script = () => [{ say: 'Hello' }],
  switches: chosen = {},
  apiKey = 'sk-fake',
  pageSize = 1_000,
}: Options = {}) {
  const switches: Switches = {
    closeAtIdle: false,
    closeAtOnce: false,
    replays: false,
    bareFrames: false,
    noIds: false,
    dropAfter: Number.POSITIVE_INFINITY,
    isTerse: false,
    hold: undefined,
    staleIdle: false,
    ...chosen,
  }
  const requests: FakeRequest[] = []
  const agents = new Map<string, Json>()
  const environments = new Map<string, Json>()
  const sessions = new Map<string, FakeSession>()
  const state: { fault: (request: FakeRequest) => Fault | undefined } = { fault: () => undefined }
  let made = 0
  const nextId = (prefix: string): string => `${prefix}_${String(++made).padStart(4, '0')}`
  const now = () => new Date().toISOString()

  const createAgent = (body: Json): Answer => {
    if (textOf(body['name']) === '' || body['model'] === undefined) return refused(400, 'name and model are required')
    const model = typeof body['model'] === 'string' ? { id: body['model'] } : body['model']
    const agent = {
      ...body,
      model,
      id: nextId('agent'),
      type: 'agent',
      version: 1,
      created_at: now(),
      updated_at: now(),
      archived_at: null,
    }
    agents.set(agent.id, agent)
    return { body: agent }
  }

  const createEnvironment = (body: Json): Answer => {
    const environment = { ...body, id: nextId('env'), type: 'environment', created_at: now(), archived_at: null }
    environments.set(environment.id, environment)
    return { body: environment }
  }

  const createSession = (body: Json): Answer => {
    const agent = agents.get(textOf(body['agent']) || textOf(recordOf(body['agent'])['id']))
    if (!agent) return refused(404, 'agent not found')
    if (!environments.has(textOf(body['environment_id']))) return refused(404, 'environment not found')
    const session = new FakeSession(nextId('sesn'), body, { switches, script })
    sessions.set(session.id, session)
    return { body: { ...body, agent, id: session.id, type: 'session', status: 'idle', created_at: now() } }
  }

  const removeSession = (session: FakeSession): Answer => {
    if (session.status === 'running') return refused(400, 'a running session cannot be deleted')
    session.emit({ type: 'session.deleted' })
    session.endStreams('end')
    sessions.delete(session.id)
    return { body: { id: session.id, type: 'session_deleted' } }
  }

  const listEvents = (session: FakeSession, query: URLSearchParams): Answer => {
    const events = session.list(query.get('created_at[gte]') ?? undefined)
    if (query.get('order') === 'desc') events.reverse()
    const from = Number(query.get('page')?.slice('page_'.length) ?? 0)
    const to = from + Math.min(Number(query.get('limit') ?? 1_000), pageSize)
    return { body: { data: events.slice(from, to), next_page: to < events.length ? `page_${to}` : null } }
  }

  const archive = (agent: Json | undefined): Answer => {
    if (!agent) return refused(404, 'agent not found')
    const archived = { ...agent, archived_at: now() }
    agents.set(textOf(agent['id']), archived)
    return { body: archived }
  }

  /** Runs `work` on the session that the path names. */
  const inSession =
    (work: (session: FakeSession, request: FakeRequest) => Answer | 'stream') =>
    (request: FakeRequest, id: string): Answer | 'stream' => {
      const session = sessions.get(id)
      return session ? work(session, request) : refused(404, 'session not found')
    }

  const routes: Record<string, (request: FakeRequest, id: string) => Answer | 'stream'> = {
    'GET models': () => ({ body: modelList }),
    'POST agents': ({ body }) => createAgent(body),
    'POST agents/archive': (_request, id) => archive(agents.get(id)),
    'POST environments': ({ body }) => createEnvironment(body),
    'DELETE environments/': (_request, id) =>
      environments.delete(id) ? { body: { id, type: 'environment_deleted' } } : refused(404, 'environment not found'),
    'POST sessions': ({ body }) => createSession(body),
    'GET sessions/': inSession(({ id, status }) => ({ body: { id, type: 'session', status } })),
    'DELETE sessions/': inSession(removeSession),
    'GET sessions/events': inSession((session, { query }) => listEvents(session, query)),
    'POST sessions/events': inSession((session, { body }) => ({
      body: { data: session.send(recordsOf(body['events'])) },
    })),
    'GET sessions/events/stream': inSession(() => 'stream'),
  }

  const answer = (request: FakeRequest): Answer | 'stream' => {
    const [, area = '', id, rest = ''] = /^\/v1\/(\w+)(?:\/([^/]+)\/?(.*))?$/.exec(request.path) ?? []
    const route = routes[`${request.method} ${area}${id === undefined ? '' : `/${rest}`}`]
    return route ? route(request, id ?? '') : refused(404, 'not found')
  }

  /** Reason for which the server rejects it unread. */
  const refusalOf = ({ headers, path }: FakeRequest): Answer | undefined => {
    const key = headers['x-api-key']
    if (key !== apiKey && headers.authorization !== `Bearer ${apiKey}`)
      return refused(401, `invalid x-api-key ${String(key)}`)
    const isBeta = String(headers['anthropic-beta']).includes('managed-agents-2026-04-01')
    return isBeta || path === '/v1/models' ? undefined : refused(400, 'the beta header is missing')
  }

  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await requestOf(incoming)
    requests.push(request)
    const fault = state.fault(request)
    if (fault === 'lost before') return void response.destroy()
    if (fault !== undefined && fault !== 'lost after')
      return sendJson(response, refused(fault.status, 'injected'), fault.headers)
    const given = refusalOf(request) ?? answer(request)
    if (fault === 'lost after') return void response.destroy()
    if (given !== 'stream') return sendJson(response, given)
    const session = sessions.get(request.path.split('/')[3] ?? '')
    session?.read(response, request.query.getAll('event_deltas[]').includes('agent.message'))
  }

  const server = createServer((incoming, response) => {
    // A connection that breaks is a case under test, not a fault of this server.
    response.on('error', () => undefined)
    void respond(incoming, response).catch(() => response.destroy())
  })
  const { host, url, close } = await onLoopback(server)

  return {
    url,
    host,
    apiKey,
    switches,
    state,
    requests: requests as readonly FakeRequest[],
    agents: agents as ReadonlyMap<string, Json>,
    environments: environments as ReadonlyMap<string, Json>,
    sessions: sessions as ReadonlyMap<string, FakeSession>,
    /** The only session. */
    get session(): FakeSession {
      const [session, ...more] = sessions.values()
      if (!session || more.length > 0) throw new Error(`there are ${sessions.size} sessions`)
      return session
    },
    /** Requests of this method whose path ends so. */
    requestsTo: (method: string, ending: string): readonly FakeRequest[] =>
      requests.filter(request => request.method === method && request.path.endsWith(ending)),
    /** Forgets a session, as if it had been deleted by somebody else. */
    lose: (id: string): boolean => sessions.delete(id),
    stop: close,
  }
}

const modelList = {
  data: [
    { id: 'claude-fake-1', type: 'model', display_name: 'Claude Fake 1' },
    { id: 'claude-fake-2', type: 'model', display_name: 'Claude Fake 2' },
  ],
  has_more: false,
  first_id: 'claude-fake-1',
  last_id: 'claude-fake-2',
}

const refused = (status: number, message: string): Answer => ({
  status,
  body: { type: 'error', error: { type: status === 404 ? 'not_found_error' : 'invalid_request_error', message } },
})

async function requestOf(incoming: IncomingMessage): Promise<FakeRequest> {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://fake')
  const body = recordOf(jsonOr(await readText(incoming), {}))
  return { method: incoming.method ?? 'GET', path: pathname, query: searchParams, headers: incoming.headers, body }
}

function sendJson(response: ServerResponse, { status = 200, body }: Answer, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_fake', ...headers })
  response.end(JSON.stringify(body))
}
