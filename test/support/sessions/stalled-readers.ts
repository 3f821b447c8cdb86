import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Pool } from 'pg'
import type { Seen, Watched } from '../service/process-watch.ts'
import type { Target } from '../service/send.ts'

/** Writes events of `eventBytes` to the end of a session's log, `count` of them, as one statement. */
export async function fillLog(
  pool: Pool,
  sessionId: string,
  size: { count: number; eventBytes: number },
): Promise<void> {
  const text = `
    with given as (select
      json_build_object('content', json_build_array(json_build_object('type', 'text', 'text', repeat('x', $3))))::text
        as payload),
    held as (
      update sessions set next_seq = next_seq + $2 where id = $1 returning next_seq - $2 as first, fence
    )
    insert into session_events (session_id, seq, id, type, payload, bytes, fence)
    select $1, held.first + n - 1, 'evt_' || $1 || '_' || (held.first + n), 'agent.message', payload::json,
           octet_length(payload), fence
    from held, given, generate_series(1, $2::int) as n`
  await pool.query(text, [sessionId, size.count, size.eventBytes])
}

/** Asks for a stream, and reads no more than its beginning: the reader is there, and follows. */
export async function openStalled({ url, key }: Target, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  return socket
}

/** A process as /proc shows it, read every 250 ms on its own thread: one read takes milliseconds. */
export interface WatchedProcess {
  /** Resident memory in MB at the last read, and the maximum since `maxFromNow`. */
  readonly mb: number
  readonly maxMb: number
  /** Connections of clients to its port. */
  readonly sockets: number
  maxFromNow(): void
  /** Resolves after a whole read. */
  sampled(): Promise<void>
  stop(): Promise<void>
}

export async function watchProcess(pid: number, url: string): Promise<WatchedProcess> {
  const worker = new Worker(new URL('../service/process-watch.ts', import.meta.url), {
    workerData: { pid, port: Number(new URL(url).port) } satisfies Watched,
  })
  let seen: Seen = { mb: 0, sockets: 0 }
  let most = 0
  worker.on('message', (sample: Seen) => {
    seen = sample
    most = Math.max(most, sample.mb)
  })
  const sampled = async () => {
    await once(worker, 'message')
    await once(worker, 'message')
  }
  await sampled()
  return {
    get mb() {
      return seen.mb
    },
    get maxMb() {
      return most
    },
    get sockets() {
      return seen.sockets
    },
    maxFromNow() {
      most = seen.mb
    },
    sampled,
    async stop() {
      await worker.terminate()
    },
  }
}
