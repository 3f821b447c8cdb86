import { PassThrough, type Readable, type Writable } from 'node:stream'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import { type Attached, type Engine, EngineError, EngineUnreachable } from './engine.ts'
import { frameReader } from './frames.ts'

/** How a container ended. */
export interface ContainerExit {
  /** 128 + n after signal n. */
  readonly code: number
  /** True when the kernel killed a process because of the memory limit. */
  readonly isOutOfMemory: boolean
}

/** A container that runs. */
export interface Container {
  readonly id: string
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /**
   * Resolves when no process of it is left, and its output has arrived unless nobody reads it. Rejects with
   * `EngineUnreachable` when the engine cannot confirm that.
   */
  readonly exited: Promise<ContainerExit>
  /** Sends SIGTERM to all processes except the first, which waits for them; kills them if that fails. */
  terminate(): void
  kill(): void
}

/** Time for the engine to confirm the end of a container that was killed, or to come back after a restart. */
const confirmMs = 15_000
/** Time for output in flight after the end of a container. */
const drainMs = 2_000
const retryMs = 300

/** Creates a container. The caller removes it by its name, also after a failure. */
export async function createContainer(engine: Engine, name: string, body: object): Promise<string> {
  const path = `/containers/create?name=${encodeURIComponent(name)}`
  const id = textOf(recordOf(await engine.call({ method: 'POST', path, body }))['Id'])
  if (!/^[0-9a-f]{12,64}$/.test(id)) throw new EngineUnreachable('the engine returned no container id')
  return id
}

/** Attaches to the streams of a created container and starts it. */
export async function startContainer(engine: Engine, id: string): Promise<Container> {
  const attached = await engine.attach(`/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`)
  try {
    await engine.call({ method: 'POST', path: `/containers/${id}/start` })
  } catch (error) {
    attached.socket.destroy()
    throw error
  }
  return running(engine, id, attached)
}

function running(engine: Engine, id: string, { socket, head }: Attached): Container {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const lost = new AbortController()
  let confirming: NodeJS.Timeout | undefined

  const kill = () => {
    confirming ??= setTimeout(
      () => lost.abort(new EngineUnreachable('does not confirm the end of a container')),
      confirmMs,
    )
    void engine.call({ method: 'POST', path: `/containers/${id}/kill` }).catch(() => undefined)
  }
  const closed = readFrames({ socket, head }, { stdout, stderr, failed: kill })

  async function exit(): Promise<ContainerExit> {
    try {
      const found = await exitOf(engine, id, lost.signal)
      await Promise.race([closed, pause(drainMs)])
      return found
    } finally {
      clearTimeout(confirming)
      socket.destroy()
    }
  }
  const exited = exit()
  // Callers may await it later.
  exited.catch(() => undefined)
  return {
    id,
    stdin: socket,
    stdout,
    stderr,
    exited,
    terminate: () => void signalAll(engine, id).catch(kill),
    kill,
  }
}

interface Sinks {
  readonly stdout: PassThrough
  readonly stderr: PassThrough
  readonly failed: () => void
}

/** Resolves when the connection has closed. Reading stops while a stream has too much that was not read. */
function readFrames({ socket, head }: Attached, { stdout, stderr, failed }: Sinks): Promise<void> {
  const sinks = { stdout, stderr }
  const read = frameReader((name, part) => {
    const sink = sinks[name]
    if (sink.write(part)) return
    socket.pause()
    sink.once('drain', () => socket.resume())
  })
  const take = (chunk: Buffer) => {
    try {
      read(chunk)
    } catch {
      socket.destroy()
      failed()
    }
  }
  return new Promise(resolve => {
    socket.on('data', take)
    socket.once('close', () => {
      stdout.end()
      stderr.end()
      resolve()
    })
    socket.once('end', () => socket.destroy())
    if (head.length > 0) take(head)
  })
}

/** Waits for the end of a container. Asks again while the engine restarts. */
async function exitOf(engine: Engine, id: string, lost: AbortSignal): Promise<ContainerExit> {
  let failingSince: number | undefined
  for (;;) {
    lost.throwIfAborted()
    try {
      const code = await codeOf(engine, id, lost)
      return { code, isOutOfMemory: code === exitOfKill && (await wasOutOfMemory(engine, id)) }
    } catch (error) {
      if (lost.aborted) throw lost.reason
      // Somebody removed it, and its processes with it.
      if (error instanceof EngineError && error.status === 404) return { code: exitOfKill, isOutOfMemory: false }
      failingSince ??= performance.now()
      if (performance.now() - failingSince > confirmMs) throw error
      await pause(retryMs, lost)
    }
  }
}

async function codeOf(engine: Engine, id: string, signal: AbortSignal): Promise<number> {
  const path = `/containers/${id}/wait?condition=not-running`
  const answer = recordOf(await engine.call({ method: 'POST', path, timeoutMs: maxWaitMs, signal }))
  const code = answer['StatusCode']
  if (typeof code !== 'number') throw new EngineUnreachable('the engine returned no exit code')
  return code
}

const maxWaitMs = 25 * 3_600_000
const exitOfKill = 137

async function wasOutOfMemory(engine: Engine, id: string): Promise<boolean> {
  const found = await engine.call({ method: 'GET', path: `/containers/${id}/json` }).catch(() => undefined)
  return isRecord(found) && recordOf(found['State'])['OOMKilled'] === true
}

/** Runs a short process in the container. It cannot signal itself and process 1. */
async function signalAll(engine: Engine, id: string): Promise<void> {
  const body = { Cmd: ['/bin/sh', '-c', 'kill -TERM -1'], AttachStdout: false, AttachStderr: false }
  const made = recordOf(await engine.call({ method: 'POST', path: `/containers/${id}/exec`, body }))
  const path = `/exec/${encodeURIComponent(textOf(made['Id']))}/start`
  await engine.call({ method: 'POST', path, body: { Detach: true, Tty: false } })
}

/** Kills and removes a container with its anonymous volumes. Does nothing when it does not exist. */
export async function removeContainer(engine: Engine, name: string): Promise<void> {
  const path = `/containers/${encodeURIComponent(name)}?force=1&v=1`
  try {
    await engine.call({ method: 'DELETE', path })
  } catch (error) {
    // 409: another removal of it is in progress.
    if (!(error instanceof EngineError && (error.status === 404 || error.status === 409))) throw error
  }
}
