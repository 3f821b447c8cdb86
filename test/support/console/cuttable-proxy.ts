import { createConnection, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { onLoopback } from '../service/on-loopback.ts'

/** A TCP proxy in front of a service, whose connections a test cuts or freezes. */
export interface CuttableProxy {
  readonly url: string
  /** Closes all connections and accepts no new ones until `restore`. */
  cut(): void
  /** Passes nothing on, but keeps the connections open, until `restore`. */
  freeze(): void
  restore(): void
}

export async function startCuttableProxy(t: TestContext, target: string): Promise<CuttableProxy> {
  const { port, hostname } = new URL(target)
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'frozen' = 'open'
  const server = createServer(near => {
    if (state === 'cut') return void near.destroy()
    const far = createConnection({ port: Number(port), host: hostname })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', chunk => void to.write(chunk))
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (state === 'frozen') from.pause()
    }
  })
  const { url } = await onLoopback(server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url,
    cut() {
      state = 'cut'
      for (const socket of sockets) socket.destroy()
    },
    freeze() {
      state = 'frozen'
      for (const socket of sockets) socket.pause()
    },
    restore() {
      state = 'open'
      for (const socket of sockets) socket.resume()
    },
  }
}
