import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { KubernetesSandbox } from '../../../src/server/config/agent-settings.ts'
import { type Json, jsonOr, recordOf, textOf } from '../../../src/server/platform/json.ts'
import { neededRights } from '../../../src/server/sandboxes/kubernetes/rights.ts'
import { certificate, key } from './certificate.ts'
import { FakeCluster, type Kind, type StoredObject } from './fake-cluster.ts'
import { serveExec } from './fake-exec.ts'
import { problemOfPolicy, problemOfSandbox, problemOfSecurity } from './validation.ts'
import type { ServedSocket } from './websocket-server.ts'

/** What happens to a request instead of its normal answer. */
export type Fault =
  | { readonly status: number; readonly message: string; readonly retryAfter?: number }
  | 'hang'
  | 'drop'
  | 'garbage'

interface PlannedFault {
  readonly pattern: RegExp
  readonly fault: Fault
  times: number
}

export interface FakeSettings {
  /** Folder of this machine with the content of the claim. */
  readonly volume: string
  readonly isIsolated?: boolean
}

const namespace = 'agents'
const claim = 'workspaces'
const base = `/namespaces/${namespace}/`

/** An API server of Kubernetes with the part that the driver of sandboxes uses. It rejects whatever a real one rejects. */
export type FakeApiServer = Awaited<ReturnType<typeof startFakeApiServer>>

export async function startFakeApiServer({ volume, isIsolated = true }: FakeSettings) {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-kubernetes-'))
  const files = { tokenFile: join(folder, 'token'), caFile: join(folder, 'ca.crt') }
  const cluster = new FakeCluster({ namespace, claim, volume, isIsolated, stepMs: 5 })
  cluster.store('persistentvolumeclaims', {
    metadata: { name: claim },
    spec: { accessModes: ['ReadWriteMany'] },
    status: { phase: 'Bound' },
  })
  const state = {
    tokens: new Set(['token-1']),
    /** Rights that the service account lacks, as `verb resource`. */
    denied: new Set<string>(),
    hasSandboxApi: true,
    /** Method and path of each request. */
    requests: [] as string[],
    faults: [] as PlannedFault[],
    execs: new Set<ServedSocket>(),
    watches: new Set<ServerResponse>(),
  }
  await writeFile(files.tokenFile, 'token-1\n')
  await writeFile(files.caFile, certificate)

  const server = createServer({ key, cert: certificate })
  server.on('request', (request, response) => void answer({ cluster, state }, request, response))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    const problem = rejection(state, request, 'get', 'pods/exec')
    if (problem === 'hang') return
    const served = problem ?? serveExec(cluster, request, socket)
    if (typeof served === 'string') socket.end(rawAnswer({ status: 404, message: served }))
    else if ('status' in served) socket.end(rawAnswer(served))
    else state.execs.add(served)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const settings: KubernetesSandbox = {
    namespace,
    claim,
    subPath: undefined,
    serviceAccount: undefined,
    runtimeClass: undefined,
    nodeSelector: {},
    pullSecrets: [],
    api: { server: `https://127.0.0.1:${port}`, ...files },
  }
  return {
    cluster,
    state,
    files,
    settings,
    /** The next requests whose `METHOD path` matches get the fault. */
    plan: (pattern: RegExp, fault: Fault, times = 1) => void state.faults.push({ pattern, fault, times }),
    /** Breaks all connections of running commands, as a restart of the API server does. */
    dropExecs() {
      for (const exec of state.execs) exec.destroy()
      state.execs.clear()
    },
    async close() {
      server.closeAllConnections()
      server.close()
      for (const exec of state.execs) exec.destroy()
      await cluster.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type State = {
  readonly tokens: ReadonlySet<string>
  readonly denied: ReadonlySet<string>
  readonly hasSandboxApi: boolean
  readonly requests: string[]
  readonly faults: PlannedFault[]
  readonly watches: Set<ServerResponse>
}

interface Serving {
  readonly cluster: FakeCluster
  readonly state: State
}

type Rejection = Exclude<Fault, string>

/** Returns why a request is not served: a planned fault, a wrong token or a missing right. */
function rejection(
  state: State,
  request: IncomingMessage,
  verb: string,
  resource: string,
): Rejection | 'hang' | undefined {
  const line = `${request.method} ${request.url}`
  state.requests.push(line)
  const planned = state.faults.find(({ pattern, times }) => times > 0 && pattern.test(line))
  if (planned) {
    planned.times -= 1
    if (planned.fault === 'drop') request.socket.destroy()
    if (typeof planned.fault === 'string') return planned.fault === 'garbage' ? { status: 200, message: '' } : 'hang'
    return planned.fault
  }
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (!state.tokens.has(token)) return { status: 401, message: 'Unauthorized' }
  if (resource !== '' && !isAllowed(state, `${verb} ${resource}`))
    return { status: 403, message: `${resource} is forbidden: cannot ${verb}` }
  return undefined
}

/** Rights of the documented Role. */
const granted = new Set(
  neededRights.map(({ verb, resource, subresource }) => `${verb} ${resource}${subresource ? `/${subresource}` : ''}`),
)

const isAllowed = ({ denied }: Pick<State, 'denied'>, right: string): boolean =>
  granted.has(right) && !denied.has(right)

const statusOf = ({ status, message }: Rejection) => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message,
  code: status,
})

function rawAnswer(problem: Rejection): string {
  const body = JSON.stringify(statusOf(problem))
  return `HTTP/1.1 ${problem.status} Failed\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

const verbs: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', PATCH: 'patch', DELETE: 'delete' }

async function answer({ cluster, state }: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://server')
  const [, kind = '', name = ''] = /\/namespaces\/agents\/(\w+)(?:\/([^/]+))?$/.exec(url.pathname) ?? []
  const isWatch = url.searchParams.get('watch') === '1'
  const verb = isWatch
    ? 'watch'
    : request.method === 'GET' && name === ''
      ? 'list'
      : (verbs[request.method ?? ''] ?? '')
  const problem = rejection(state, request, verb, kind)
  if (problem === 'hang') return
  const body = recordOf(jsonOr(await text(request), undefined))
  const send = (status: number, value: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }
  if (problem?.status === 200) return send(200, '<html>gateway</html>')
  if (problem)
    return send(
      problem.status,
      statusOf(problem),
      problem.retryAfter === undefined ? {} : { 'retry-after': String(problem.retryAfter) },
    )
  if (isWatch) return watch({ cluster, state }, url, response)
  const [status, value] = result({ cluster, state }, { verb, kind, name, url, body })
  send(status, value)
}

interface Wanted {
  readonly verb: string
  readonly kind: string
  readonly name: string
  readonly url: URL
  readonly body: Json
}

const failure = (status: number, message: string): [number, unknown] => [status, statusOf({ status, message })]

function result({ cluster, state }: Serving, { verb, kind, name, url, body }: Wanted): [number, unknown] {
  if (url.pathname === '/apis/agents.x-k8s.io/v1beta1')
    return state.hasSandboxApi ? [200, { kind: 'APIResourceList' }] : failure(404, 'not found')
  if (url.pathname === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews') return [201, reviewOf(state, body)]
  if (!url.pathname.includes(base) || !isKind(kind)) return failure(404, `no such path ${url.pathname}`)
  const found = name === '' ? undefined : cluster.find(kind, name)
  if (name !== '' && !found) return failure(404, `${kind} "${name}" not found`)
  switch (verb) {
    case 'list':
      return [
        200,
        { kind: 'List', metadata: { resourceVersion: cluster.version }, items: selected(cluster.list(kind), url) },
      ]
    case 'create':
      return create(cluster, kind, { url, body })
    case 'patch':
      return [200, cluster.store(kind, { ...found, spec: { ...recordOf(found?.['spec']), ...recordOf(body['spec']) } })]
    case 'delete':
      cluster.removeSandbox(name)
      return [200, { kind: 'Status', status: 'Success' }]
    default:
      return [200, found]
  }
}

const isKind = (kind: string): kind is Kind =>
  ['sandboxes', 'pods', 'networkpolicies', 'persistentvolumeclaims'].includes(kind)

function create(cluster: FakeCluster, kind: Kind, { url, body }: Pick<Wanted, 'url' | 'body'>): [number, unknown] {
  if (cluster.find(kind, textOf(recordOf(body['metadata'])['name']))) return failure(409, 'object already exists')
  if (url.searchParams.get('fieldValidation') !== 'Strict') return failure(400, 'the tests require strict validation')
  const problem = kind === 'sandboxes' ? problemOfSandbox(body) : problemOfPolicy(body)
  if (problem) return failure(422, `${kind} is invalid: ${problem}`)
  if (kind === 'networkpolicies') return [201, cluster.store(kind, body)]
  const insecure = problemOfSecurity(recordOf(recordOf(recordOf(body['spec'])['podTemplate'])['spec']))
  if (insecure) return failure(403, `violates PodSecurity "restricted": ${insecure}`)
  return [201, cluster.createSandbox(body)]
}

function reviewOf({ denied }: State, body: Json): Json {
  const { verb, resource, subresource } = recordOf(recordOf(body['spec'])['resourceAttributes'])
  const name = `${verb} ${resource}${subresource ? `/${subresource}` : ''}`
  return { kind: 'SelfSubjectAccessReview', status: { allowed: isAllowed({ denied }, name) } }
}

function selected(objects: readonly StoredObject[], { searchParams }: URL): readonly StoredObject[] {
  const labels = (searchParams.get('labelSelector') ?? '').split(',').filter(Boolean)
  const name = /^metadata\.name=(.+)$/.exec(searchParams.get('fieldSelector') ?? '')?.[1]
  return objects.filter(({ metadata }) => {
    const own = recordOf(metadata['labels'])
    return (
      (name === undefined || metadata.name === name) &&
      labels.every(pair => own[pair.split('=')[0] ?? ''] === pair.split('=')[1])
    )
  })
}

/** Sends the present objects, then changes and bookmarks. */
function watch({ cluster, state }: Serving, url: URL, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const send = (type: string, object: unknown) => {
    if (!response.writableEnded) response.write(`${JSON.stringify({ type, object })}\n`)
  }
  for (const pod of selected(cluster.list('pods'), url)) send('ADDED', pod)
  const stop = cluster.subscribe(({ type, kind, object }) => {
    if (kind === 'pods' && selected([object], url).length > 0) send(type, object)
  })
  const bookmarks = setInterval(
    () => send('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: cluster.version } }),
    20,
  )
  state.watches.add(response)
  response.on('close', () => {
    clearInterval(bookmarks)
    state.watches.delete(response)
    stop()
  })
}
