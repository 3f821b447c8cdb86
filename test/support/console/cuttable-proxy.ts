import { createConnection, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { onLoopback } from '../service/on-loopback.ts'

/** A TCP proxy in front of a service, whose connections a test cuts or freezes. */
export interface CuttableProxy {
  readonly url: string
  /** Closes all connections and accepts no new ones until `restore`. */
  cut(): void
  /** Passes nothing on, although the connections stay open, until `restore`. */
  freeze(): void
  restore(): void
}

export async function startCuttableProxy(t: TestContext, target: string): Promise<CuttableProxy> {
  const { port, hostname } = new URL(target)
  const sockets = new Set<Socket>()
  let isCut = false
  let isFrozen = false
  const server = createServer(near => {
    if (isCut) return void near.destroy()
    const far = createConnection({ port: Number(port), host: hostname })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      if (isFrozen) from.pause()
      from.on('data', chunk => void to.write(chunk))
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const { url, close } = await onLoopback(server)
  t.after(close)
  return {
    url,
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    freeze() {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    restore() {
      isCut = false
      isFrozen = false
      for (const socket of sockets) socket.resume()
    },
  }
}
