import { type Level, pino } from 'pino'
import type { LogOrigin, LogStream } from './log.ts'

/** One answered request. Never its query, which may hold a key. */
export interface RequestLine {
  readonly request_id: string
  readonly method: string
  readonly path: string
  readonly status: number
  /** From the request's head to the end of the answer, in milliseconds. */
  readonly ms: number
  /** The client's; absent where the connection has none any more. */
  readonly address?: string
  /** Id of the virtual key, else the principal; absent where authentication failed or was not needed. */
  readonly caller?: string
}

export interface RequestLogSettings {
  /** The level of the lines; `off` writes none. */
  readonly level: Level | 'off'
  /** The share of the requests that are written, from 0 to 1. Answers with status 5xx are always written. */
  readonly sample: number
}

/** Writes one line for each request. */
export interface RequestLog {
  /** False: `write` does nothing, so that the line need not be made. */
  readonly isOn: boolean
  write(line: RequestLine): void
  /** Writes what is buffered. */
  flush(): void
}

const flushMs = 100
const flushLength = 16_384

interface Options extends RequestLogSettings {
  /** The level of the process's log. */
  readonly logLevel: string
  readonly stream: LogStream
  readonly origin?: LogOrigin
}

/**
 * The request log. Lines are buffered for at most 100 ms and written with one call, since a system call for each request
 * would cost more than the line. They use the stream of the log, so that no line is split by another, and have its form.
 * They are put together here: of the CPU time of a small model call the logger took 5 %, and this takes 1 %.
 */
export function createRequestLog({ level, sample, logLevel, stream, origin = {} }: Options): RequestLog {
  let buffered = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (buffered !== '') stream.write(buffered)
    buffered = ''
  }
  const minLevel = pino.levels.values[logLevel] ?? Number.POSITIVE_INFINITY
  const isEnabled = (of: Level) => (pino.levels.values[of] ?? 0) >= minLevel
  if (level === 'off' || !isEnabled(level)) return silentRequestLog
  const worker = origin.worker === undefined ? '' : `"worker":${origin.worker},`
  const writesProbes = isEnabled('debug')
  const add = (of: Level, line: RequestLine) => {
    buffered += `{"level":"${of}","time":"${isoTime(Date.now())}",${worker}${fieldsOf(line)},"msg":"request"}\n`
    if (buffered.length >= flushLength) flush()
    else timer ??= setTimeout(flush, flushMs).unref()
  }
  process.once('exit', flush)
  return {
    isOn: true,
    write(line) {
      // Probes come every few seconds and say little.
      if (line.status < 500 && line.path.startsWith('/health')) {
        if (writesProbes) add('debug', line)
      } else if (line.status >= 500 || sample >= 1 || Math.random() < sample) add(level, line)
    },
    flush,
  }
}

function fieldsOf({ request_id, method, path, status, ms, address, caller }: RequestLine): string {
  // Ids and methods are our own words; a path is the client's, and a key may be named by its owner.
  const given = `"request_id":"${request_id}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${ms}`
  const from = address === undefined ? '' : `,"address":${JSON.stringify(address)}`
  return given + from + (caller === undefined ? '' : `,"caller":${JSON.stringify(caller)}`)
}

let lastSecond = Number.NaN
let lastPrefix = ''

/** `2026-11-25T10:00:00.000Z`. Many lines are written in one second, and its digits are most of the work. */
function isoTime(atMs: number): string {
  const second = Math.floor(atMs / 1_000)
  if (second !== lastSecond) {
    lastSecond = second
    lastPrefix = new Date(second * 1_000).toISOString().slice(0, 20)
  }
  return `${lastPrefix}${String(atMs % 1_000).padStart(3, '0')}Z`
}

/** Writes nothing. */
export const silentRequestLog: RequestLog = { isOn: false, write: () => {}, flush: () => {} }
