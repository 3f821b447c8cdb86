import type { Level } from 'pino'
import { createPlainLog, type LogOrigin, type LogStream } from './log.ts'

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
 * would cost more than the line. They use the stream of the log, so that no line is split by another.
 */
export function createRequestLog({ level, sample, logLevel, stream, origin }: Options): RequestLog {
  let buffered = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (buffered !== '') stream.write(buffered)
    buffered = ''
  }
  const buffer: LogStream = {
    write(line) {
      buffered += line
      if (buffered.length >= flushLength) flush()
      else timer ??= setTimeout(flush, flushMs).unref()
    },
  }
  const log = createPlainLog(logLevel, buffer, origin)
  if (level === 'off' || !log.isLevelEnabled(level)) return silentRequestLog
  process.once('exit', flush)
  return {
    isOn: true,
    write(line) {
      // Probes come every few seconds and say little.
      if (line.path.startsWith('/health') && line.status < 500) log.debug(line, 'request')
      else if (line.status >= 500 || sample >= 1 || Math.random() < sample) log[level](line, 'request')
    },
    flush,
  }
}

/** Writes nothing. */
export const silentRequestLog: RequestLog = { isOn: false, write: () => {}, flush: () => {} }
