import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { compiled } from '../compiled.ts'
import { bindLifetime } from '../program.ts'
import type { Server } from '../server.ts'
import { lastSeq } from './turns.ts'

/** What readers got in their time. */
export interface Received {
  readonly frames: number
  /** Those that got anything. */
  readonly readers: number
  /** From `processed_at` of an event to its arrival. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Connections that the service closed. */
  readonly cut: number
}

interface Wish {
  readonly folder: string
  readonly sessions: readonly string[]
  readonly readers: number
  readonly seconds: number
}

const source = join(import.meta.dirname, 'readers.c')

/** Opens readers, spread over the sessions, from a program in C. Resolves when all are open, with how long that took. */
export async function openReaders({ url, key }: Server, { folder, sessions, readers, seconds }: Wish) {
  const program = compiled(source, folder)
  const file = join(folder, 'paths')
  const paths = sessions.map(async id => `/v1/sessions/${id}/events/stream?after=${await lastSeq({ url, key }, id)}\n`)
  await writeFile(file, (await Promise.all(paths)).join(''))
  const child = spawn(program, [new URL(url).port, key, `${readers}`, `${seconds}`, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  bindLifetime(child)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async <T>(): Promise<T> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the readers have ended')
    return JSON.parse(value) as T
  }
  const { connectedMs } = await next<{ connectedMs: number }>()
  const received = next<Received>()
  received.catch(() => undefined)
  return { pid: child.pid ?? 0, connectedMs, received, ended: once(child, 'exit') }
}
