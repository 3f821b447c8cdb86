import { access, constants, mkdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Config } from './config/config.ts'
import { AppError } from './platform/errors.ts'

/**
 * Checks that the data folder is writable and the port is free. Rejects with `unavailable`; the message names cause and
 * next step.
 */
export async function checkStart({ dataDir, host, port }: Pick<Config, 'dataDir' | 'host' | 'port'>): Promise<void> {
  await checkDataFolder(dataDir)
  const problem = await portProblem({ host, port })
  if (problem) throw new AppError('unavailable', problem.text, { cause: problem.cause })
}

async function checkDataFolder(dataDir: string): Promise<void> {
  const other = 'choose another folder with --data-dir or SWITCHYARD_DATA_DIR'
  const found = await stat(dataDir).catch(() => undefined)
  if (found && !found.isDirectory())
    throw new AppError('unavailable', `data folder ${dataDir} is not a folder; ${other}`)
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const owner = `make it writable for user ${process.getuid?.() ?? 'of this process'}`
    throw new AppError('unavailable', `cannot write to data folder ${dataDir}: ${reason}; ${owner}, or ${other}`, {
      cause,
    })
  }
}

interface PortProblem {
  readonly text: string
  readonly cause: Error
}

const otherPort = 'choose another port with --port or PORT'

/** Returns why a server cannot listen on the address; undefined when it can. */
export async function portProblem({ host, port }: Pick<Config, 'host' | 'port'>): Promise<PortProblem | undefined> {
  const cause = await listenError({ host, port })
  return cause && { text: listenProblem(cause, { host, port }), cause }
}

/** Returns the message for an error of `listen`, with the next step. */
export function listenProblem({ code, message }: NodeJS.ErrnoException, at: Pick<Config, 'host' | 'port'>): string {
  const { host, port } = at
  if (code === 'EADDRINUSE') return `port ${port} is in use by another program; stop it, or ${otherPort}`
  if (code === 'EACCES') return `this user may not listen on port ${port}; ${otherPort} above 1023`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `address ${host} does not belong to this machine; choose another one with --host or HOST`
  return `cannot listen on ${host}:${port}: ${message}`
}

function listenError(at: Pick<Config, 'host' | 'port'>): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer()
  return new Promise(done => {
    server.once('error', done)
    server.listen(at, () => server.close(() => done(undefined)))
  })
}
