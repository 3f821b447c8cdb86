import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { pathOf } from '../../platform/handle-path.ts'
import { listOf, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { removeContainer } from './container.ts'
import type { Engine } from './engine.ts'

/** Labels of our containers: the data folder, and the server among those that share it. */
const folderLabel = 'switchyard.data'
const serverLabel = 'switchyard.server'

/** A server process among those that share a data folder. */
export interface Owner {
  /** Id of the data folder: two services on one engine may have the same path in different containers. */
  readonly folderId: string
  /** Labels of its containers. */
  readonly labels: Readonly<Record<string, string>>
  /** Returns a new name for a container. */
  newName(): string
  /** Ends the sign of life of this server. */
  close(): Promise<void>
}

/**
 * Registers this server by a socket in `folder`, and removes the containers of servers that have ended. A server lives
 * while its socket accepts connections, which other containers with the same data folder can check too.
 */
export async function registerOwner(engine: Engine, folder: string): Promise<Owner> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const folderId = await idOf(folder)
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  const id = randomUUID()
  const server = createServer(socket => socket.destroy())
  server.unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(`${pathOf(handle)}/${id}`, resolve)
  })
  try {
    await removeLeftovers(engine, { handle, folder, folderId })
  } catch (error) {
    server.close()
    await handle.close()
    throw error
  }
  let containers = 0
  return {
    folderId,
    labels: { [folderLabel]: folderId, [serverLabel]: id },
    newName: () => `${namePrefix}${id}-${++containers}`,
    async close() {
      await new Promise(resolve => server.close(resolve))
      await handle.close()
    },
  }
}

const namePrefix = 'switchyard-'

/** Returns the id of the folder, which the first server of the folder writes. */
async function idOf(folder: string): Promise<string> {
  const file = join(folder, 'id')
  await writeFile(file, randomUUID(), { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const id = await readFile(file, 'utf8')
  if (!isOwnerId(id)) throw new Error(`${file} is damaged; stop the service, delete it and start again`)
  return id
}

interface Place {
  readonly handle: FileHandle
  readonly folder: string
  readonly folderId: string
}

async function removeLeftovers(engine: Engine, { handle, folder, folderId }: Place): Promise<void> {
  const dead = new Map<string, Promise<boolean>>()
  const isDead = (id: string): Promise<boolean> => {
    const checked = dead.get(id) ?? isUnreachable(`${pathOf(handle)}/${id}`)
    dead.set(id, checked)
    return checked
  }
  const filters = encodeURIComponent(JSON.stringify({ label: [`${folderLabel}=${folderId}`] }))
  const found = recordsOf(await engine.call({ method: 'GET', path: `/containers/json?all=1&filters=${filters}` }))
  for (const container of found) {
    const labels = recordOf(container['Labels'])
    const owner = textOf(labels[serverLabel])
    // The filter of an engine is not trusted, and a container that a person starts from one of our images has its labels.
    const isOurs = listOf(container['Names']).some(name => textOf(name).startsWith(`/${namePrefix}${owner}-`))
    if (labels[folderLabel] !== folderId || !isOurs || !isOwnerId(owner) || !(await isDead(owner))) continue
    await removeContainer(engine, textOf(container['Id']))
  }
  for (const name of await readdir(folder)) {
    if (isOwnerId(name) && (await isDead(name))) await rm(join(folder, name), { force: true })
  }
}

const isOwnerId = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text)

function isUnreachable(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED' || code === 'ENOENT'))
  })
}
