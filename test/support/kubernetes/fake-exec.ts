import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FakeCluster } from './fake-cluster.ts'
import { acceptWebSocket, type ServedSocket } from './websocket-server.ts'

const protocol = 'v5.channel.k8s.io'
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const

/** Runs a command in a container over the channels of a WebSocket. Returns why it cannot. */
export function serveExec(cluster: FakeCluster, request: IncomingMessage, socket: Duplex): ServedSocket | string {
  const url = new URL(request.url ?? '/', 'https://server')
  const [, name = ''] = /\/pods\/([^/]+)\/exec$/.exec(url.pathname) ?? []
  const container = cluster.containers.get(name)
  if (!cluster.find('pods', name)) return `pods "${name}" not found`
  if (!container) return 'unable to upgrade connection: container not found ("sandbox")'
  if (!(request.headers['sec-websocket-protocol'] ?? '').split(/, */).includes(protocol)) return 'unknown subprotocol'
  if (url.searchParams.get('container') !== 'sandbox') return 'no such container'

  const child = container.exec(url.searchParams.getAll('command'), url.searchParams.get('stderr') === 'true')
  // The process continues without its client; it notices only the end of its input.
  const served = acceptWebSocket(request, socket, {
    protocol,
    handlers: { message: data => receive(data), closed: () => void child.stdin?.end() },
  })
  const receive = (data: Buffer) => {
    if (data[0] === channels.stdin) child.stdin?.write(data.subarray(1))
    if (data[0] === channels.close && data[1] === channels.stdin) child.stdin?.end()
  }
  const send = (channel: number, data: Buffer) => served.send(Buffer.concat([Buffer.from([channel]), data]))
  const relay = (channel: number) => (data: Buffer) => {
    for (let at = 0; at < data.length; at += 32_768) send(channel, data.subarray(at, at + 32_768))
  }
  // An API server opens every channel with an empty message.
  for (const channel of [channels.stdout, channels.stderr, channels.error]) send(channel, Buffer.alloc(0))
  child.stdin?.on('error', () => undefined)
  child.stdout?.on('data', relay(channels.stdout))
  child.stderr?.on('data', relay(channels.stderr))
  void once(child, 'close').then(async ([code]) => {
    // The connection of a container that is gone ends without a status.
    if (!cluster.containers.has(name)) return served.destroy()
    send(channels.error, Buffer.from(JSON.stringify(statusOf(Number(code ?? 137)))))
    served.close()
  })
  return served
}

const statusOf = (code: number) =>
  code === 0
    ? { metadata: {}, status: 'Success' }
    : {
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: exit status ${code}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
      }
