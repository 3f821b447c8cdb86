import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Ports below those that the kernel gives to outgoing connections and to servers on port 0 (32768 and above on Linux).
 * A port of the kernel's range could be taken by a test beside this one before the program that needs it listens.
 */
const lowest = 15_000
const highest = 32_000

/** Returns a free port of the loopback address for a program whose port must be known before it listens. */
export async function freePort(): Promise<number> {
  const server = createServer()
  while (true) {
    const port = randomInt(lowest, highest)
    server.listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
