import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bindLifetime } from '../program.ts'

/** The same call, sent again and again. */
export interface Calls {
  readonly url: string
  /** A file with the body; `@n@` in it becomes the number of the request. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** Connections, each with one call in flight. */
  readonly connections: number
  readonly seconds: number
}

/** What the calls came to; all of them were answered with 2xx. Calls in flight at the end do not count. */
export interface Answered {
  readonly calls: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

interface Printed extends Answered {
  /** Answers with a status above 399. */
  readonly refused: number
  readonly unconnected: number
  readonly interrupted: number
  /** Answers that took longer than `patienceSeconds`. */
  readonly late: number
}

const patienceSeconds = 60
const script = join(import.meta.dirname, 'post.lua')

/** Sends one call and rejects unless `expected` is in the answer: wrk does not read what it gets. */
export async function checkAnswer({ url, body, headers }: Calls, expected: string): Promise<void> {
  const request = { method: 'POST', body: (await readFile(body, 'utf8')).replace('@n@', '0') }
  const answer = await fetch(url, { ...request, headers: { 'content-type': 'application/json', ...headers } })
  const received = await answer.text()
  if (answer.ok && received.includes(expected)) return
  throw new Error(`${url} answered ${answer.status} without the text of the upstream: ${received.slice(0, 500)}`)
}

/** Sends the calls with wrk, from one thread. Rejects when a call failed, or none was answered. */
export async function sendCalls({ url, body, headers, connections, seconds }: Calls): Promise<Answered> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const options = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '--timeout', `${patienceSeconds}s`]
  const child = spawn('wrk', [...options, '-s', script, url, '--', body, ...lines], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  bindLifetime(child)
  const ended = once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    const missing = error.code === 'ENOENT'
    throw missing ? new Error('wrk is missing; install it: apt-get install wrk') : error
  })
  const [[code], output, problems] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`wrk exited with ${code}: ${problems}${output}`)
  return checked(readPrinted(output), url)
}

function readPrinted(output: string): Printed {
  const line = output.trimEnd().split('\n').at(-1) ?? ''
  try {
    return JSON.parse(line) as Printed
  } catch {
    throw new Error(`wrk printed no result: ${output}`)
  }
}

function checked({ refused, unconnected, interrupted, late, ...answered }: Printed, url: string): Answered {
  const failed = refused + unconnected + interrupted + late
  if (failed === 0 && answered.calls > 0) return answered
  const kinds = `${refused} with an error status, ${unconnected} not connected, ${interrupted} interrupted, ${late} late`
  throw new Error(`${failed} of ${answered.calls} calls to ${url} failed: ${kinds}`)
}
