import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { Pool } from 'pg'
import type { Target } from './send.ts'

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

/** Resident memory of a process, in MB. */
export function residentMb(pid: number): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) / 1_024
}

/** Connections of clients to a port that a process has open; its other sockets, such as those to the database, come and go. */
export function socketCount(pid: number, url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')
  const tables = ['tcp', 'tcp6'].flatMap(name => readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n').slice(1))
  const rows = tables.map(line => line.trim().split(/\s+/))
  const inodes = new Set(rows.filter(([, local]) => local?.endsWith(`:${port}`)).map(row => row[9]))
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter(name => {
    try {
      return inodes.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1])
    } catch {
      return false
    }
  }).length
}
