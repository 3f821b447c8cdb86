import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { pathOf } from '../../platform/handle-path.ts'

/** O_PATH of Linux, which Node does not export: opens the socket itself, even if its name is replaced afterwards. */
const asPath = 0o10000000

/**
 * Connects to a socket that a program has created. The program may replace it at any time, so links are not followed
 * and anything but a socket is rejected. Rejects while the program does not listen.
 */
export async function connectToSocket(path: string): Promise<Socket> {
  const handle = await open(path, asPath | constants.O_NOFOLLOW)
  try {
    if (!(await handle.stat()).isSocket()) throw new Error('the file is not a socket')
    return await connected(connect(pathOf(handle)))
  } finally {
    await handle.close()
  }
}

/** Resolves with the socket once it is connected; rejects when the connection fails. */
export function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
