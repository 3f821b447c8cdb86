import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { bodyProblem, type ContainerBody } from './bodies.ts'
import { execIn, type FakeContainer, killProcesses, processOne, startProcess } from './fake-container.ts'

/** What goes wrong with a request: no answer, no connection, or an answer that cannot be read. */
export type Fault = 'hang' | 'reset' | 'garbage'

interface Image {
  readonly id: string
  readonly created: number
  readonly labels: Readonly<Record<string, string>>
  readonly layer: string
}

interface Options {
  /** Images that exist. */
  readonly images?: readonly string[]
  /** Images that can be pulled. */
  readonly registry?: readonly string[]
  readonly apiVersion?: string
  readonly securityOptions?: readonly string[]
}

/** The default image of tests. */
export const fakeImage = 'fake:1'

/** A Docker engine whose containers are bubblewrap sandboxes. */
export type FakeEngine = Awaited<ReturnType<typeof startFakeEngine>>

/** Answers the part of the Engine API that the service uses. Rejects bodies that an engine would not understand. */
export async function startFakeEngine(options: Options = {}) {
  const { images: given = [fakeImage], registry = [], apiVersion = '1.47', securityOptions = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-engine-'))
  const socketPath = join(folder, 'docker.sock')
  const containers = new Map<string, FakeContainer>()
  const images = new Map<string, Image>()
  const execs = new Map<string, { readonly container: FakeContainer; readonly command: readonly string[] }>()
  const requests: { readonly method: string; readonly path: string; readonly body: unknown }[] = []
  const problems: string[] = []
  const state: { faultOf: (method: string, path: string) => Fault | undefined } = { faultOf: () => undefined }
  let created = 0

  const newId = () => randomBytes(32).toString('hex')
  async function newLayer(from: string | undefined): Promise<string> {
    const layer = await mkdtemp(join(folder, 'layer-'))
    if (from !== undefined) await cp(from, layer, { recursive: true })
    await chmod(layer, 0o755)
    return layer
  }
  async function addImage(name: string, from?: string, labels = {}): Promise<Image> {
    const id = newId()
    const layer = await newLayer(from)
    const image = { id: `sha256:${id}`, created: ++created, labels, layer }
    images.set(name, image)
    return image
  }
  for (const name of given) await addImage(name)

  const found = (name: string): FakeContainer => {
    const one = [...containers.values()].find(({ id, name: own }) => id === name || own === name)
    if (!one) throw new Reply(404, `No such container: ${name}`)
    return one
  }
  const imageNamed = (name: string): Image => {
    const image = images.get(name) ?? [...images.values()].find(({ id }) => id === name)
    if (!image) throw new Reply(404, `No such image: ${name}`)
    return image
  }

  async function create(body: ContainerBody, name: string): Promise<object> {
    const image = imageNamed(body.Image)
    if (containers.has(name)) throw new Reply(409, `Conflict. The container name "/${name}" is already in use`)
    for (const { Source } of body.HostConfig.Mounts) {
      if (!existsSync(Source))
        throw new Reply(400, `invalid mount config for type "bind": bind source path does not exist: ${Source}`)
    }
    if (body.HostConfig.NetworkMode !== 'none' && body.Hostname !== undefined)
      throw new Reply(400, 'conflicting options: hostname and the network mode')
    if (body.HostConfig.Runtime === 'missing') throw new Reply(400, 'unknown or invalid runtime name: missing')
    const layer = await newLayer(image.layer)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const id = newId()
    containers.set(name, { id, name, body, layer, process: undefined, client: undefined, exit: undefined, ended, end })
    return { Id: id, Warnings: [] }
  }

  async function start(container: FakeContainer): Promise<void> {
    if (container.process) throw new Reply(304, '')
    if (/no-shell/.test(container.body.Image))
      throw new Reply(400, 'failed to create task: exec: "/bin/sh": stat /bin/sh: no such file or directory')
    const [, other] = container.body.HostConfig.NetworkMode.split(':')
    await startProcess(container, { networkPid: other === undefined ? undefined : processOne(found(other)) })
  }

  async function remove(container: FakeContainer, isForced: boolean): Promise<void> {
    if (container.process && !container.exit) {
      if (!isForced) throw new Reply(409, 'cannot remove container: container is running')
      killProcesses(container)
      await container.ended
    }
    container.client?.destroy()
    containers.delete(container.name)
    await rm(container.layer, { recursive: true, force: true })
  }

  const labelsOf = (query: URLSearchParams): string[] =>
    (JSON.parse(query.get('filters') ?? '{}') as { label?: string[] }).label ?? []
  const matches = (labels: Readonly<Record<string, string>>, wanted: readonly string[]): boolean =>
    wanted.every(label => labels[label.split('=')[0] ?? ''] === label.split('=')[1])

  async function pull(query: URLSearchParams, response: ServerResponse): Promise<undefined> {
    const name = query.get('fromImage') ?? ''
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`${JSON.stringify({ status: `Pulling from ${name}` })}\r\n`)
    if (registry.includes(name)) await addImage(name)
    else response.write(`${JSON.stringify({ errorDetail: {}, error: `manifest for ${name} not found` })}\r\n`)
    response.end()
    return undefined
  }

  /** Answers by method, kind of object and action. They return undefined when they have sent the response. */
  const routes: Readonly<Record<string, (call: Call) => Promise<Reply | undefined> | Reply>> = {
    'GET version': () => ok({ ApiVersion: apiVersion, MinAPIVersion: '1.24', Version: 'fake' }),
    'GET info': () => ok({ SecurityOptions: securityOptions }),
    'POST containers create': async ({ body, query }) =>
      new Reply(201, await create(body as ContainerBody, query.get('name') ?? '')),
    'GET containers list': ({ query }) =>
      ok(
        [...containers.values()]
          .filter(one => matches(one.body.Labels, labelsOf(query)))
          .map(one => ({ Id: one.id, Names: [`/${one.name}`], Labels: one.body.Labels })),
      ),
    'GET containers json': ({ name }) => ok(inspected(found(name))),
    'POST containers start': async ({ name }) => {
      await start(found(name))
      return new Reply(204, '')
    },
    'POST containers wait': async ({ name, response }) => {
      const container = found(name)
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
      if (container.process) await container.ended
      response.end(JSON.stringify({ StatusCode: container.exit?.code ?? 0 }))
      return undefined
    },
    'POST containers kill': ({ name }) => {
      const container = found(name)
      if (!container.process || container.exit) throw new Reply(409, `container ${name} is not running`)
      killProcesses(container)
      return new Reply(204, '')
    },
    'DELETE containers': async ({ name, query }) => {
      await remove(found(name), query.get('force') === '1')
      return new Reply(204, '')
    },
    'POST containers exec': ({ name, body }) => {
      const id = newId()
      execs.set(id, { container: found(name), command: (body as { Cmd: string[] }).Cmd })
      return new Reply(201, { Id: id })
    },
    'POST exec start': ({ name }) => {
      const exec = execs.get(name)
      if (!exec) throw new Reply(404, `No such exec instance: ${name}`)
      void execIn(exec.container, exec.command)
      return new Reply(200, '')
    },
    'GET images list': ({ query }) =>
      ok(
        [...images.values()]
          .filter(({ labels }) => matches(labels, labelsOf(query)))
          .map(({ id, created: at, labels }) => ({ Id: id, Created: at, Labels: labels })),
      ),
    'GET images json': ({ name }) => ok({ Id: imageNamed(name).id }),
    'POST images create': ({ query, response }) => pull(query, response),
    'DELETE images': ({ name }) => {
      const image = imageNamed(name)
      for (const [key, one] of images) if (one === image) images.delete(key)
      return ok([{ Deleted: image.id }])
    },
    'POST commit': async ({ body, query }) => {
      const container = found(query.get('container') ?? '')
      const labels = { ...container.body.Labels, ...(body as { Labels: object }).Labels }
      const image = await addImage(`${query.get('repo')}:${query.get('tag')}`, container.layer, labels)
      return new Reply(201, { Id: image.id })
    },
  }

  async function replyTo(call: Omit<Call, 'name'>, path: string): Promise<Reply | undefined> {
    const problem = bodyProblem(path, call.body)
    if (problem !== undefined) {
      problems.push(problem)
      return new Reply(400, problem)
    }
    const { key, name } = routeOf(call.method, path)
    try {
      return (await routes[key]?.({ ...call, name })) ?? (routes[key] ? undefined : new Reply(404, 'page not found'))
    } catch (error) {
      if (error instanceof Reply) return error
      problems.push(String(error))
      return new Reply(500, String(error))
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, path, query } = partsOf(request)
    const body = request.headers['content-type'] === 'application/json' ? await json(request) : undefined
    requests.push({ method, path, body })
    switch (state.faultOf(method, path)) {
      case 'hang':
        return
      case 'reset':
        request.socket.destroy()
        return
      case 'garbage':
        response.writeHead(200).end('\u0000<html>')
        return
      case undefined:
        ;(await replyTo({ method, query, body, response }, path))?.send(response)
    }
  }

  const server = createServer((request, response) => void serve(request, response))
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => undefined)
    const { method, path } = partsOf(request)
    requests.push({ method, path, body: undefined })
    const container = [...containers.values()].find(({ id }) => path === `/containers/${id}/attach`)
    const fault = state.faultOf(method, path)
    if (fault === 'hang') return
    if (fault === 'reset' || !container) return void socket.destroy()
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
    if (fault === 'garbage') socket.write('these are not frames, are they')
    container.client = socket
  })
  await new Promise<void>(resolve => server.listen(socketPath, resolve))

  return {
    socketPath,
    containers,
    images,
    requests,
    /** Bodies that an engine would not understand, and bugs of the fake. */
    problems,
    /** Decides about what goes wrong from now on. */
    setFaults(faultOf: (method: string, path: string) => Fault | undefined) {
      state.faultOf = faultOf
    },
    async stop() {
      for (const container of containers.values()) await remove(container, true)
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Call {
  readonly method: string
  /** Of the container, image or exec. */
  readonly name: string
  readonly query: URLSearchParams
  readonly body: unknown
  readonly response: ServerResponse
}

class Reply extends Error {
  readonly status: number
  readonly body: object | string

  constructor(status: number, body: object | string) {
    super(`status ${status}`)
    this.status = status
    this.body = body
  }

  send(response: ServerResponse): void {
    if (this.status === 204 || this.status === 304 || this.body === '') {
      response.writeHead(this.status).end()
      return
    }
    const body = this.status >= 400 ? { message: this.body } : this.body
    response.writeHead(this.status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}

const ok = (body: object) => new Reply(200, body)

function routeOf(method: string, path: string): { readonly key: string; readonly name: string } {
  const [kind, name = '', action] = path.split('/').slice(1).map(decodeURIComponent)
  if (action === undefined && name === 'json') return { key: `${method} ${kind} list`, name: '' }
  const word = action ?? (name === 'create' ? name : '')
  return { key: `${method} ${kind} ${word}`.trim(), name }
}

const inspected = ({ id, exit, process: child }: FakeContainer) => ({
  Id: id,
  State: { Running: child !== undefined && !exit, ExitCode: exit?.code ?? 0, OOMKilled: exit?.isOutOfMemory ?? false },
})

function partsOf({ method = '', url = '' }: IncomingMessage) {
  const { pathname, searchParams: query } = new URL(url, 'http://docker')
  return { method, path: pathname.replace(/^\/v1\.\d+(?=\/)/, ''), query }
}
