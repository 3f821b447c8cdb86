import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'

/** O_PATH of Linux, which Node does not name: the socket itself, whatever takes its name afterwards. */
const asPath = 0o10000000

/**
 * Connects to a socket that a program has made. The program may put anything there at any time, so a link is not
 * followed and what is no socket is refused. Rejects while nobody listens.
 */
export async function connectToSocket(path: string): Promise<Socket> {
  const handle = await open(path, asPath | constants.O_NOFOLLOW)
  try {
    if (!(await handle.stat()).isSocket()) throw new Error('it is no socket')
    return await connected(connect(pathOf(handle)))
  } finally {
    await handle.close()
  }
}

/** A unix socket's path has 107 bytes at most, which a data folder may pass. */
export const pathOf = ({ fd }: Pick<FileHandle, 'fd'>): string => `/proc/self/fd/${fd}`

/** The socket once it is connected; rejects when it does not come to that. */
export function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
