import { type Logger, type LoggerOptions, pino } from 'pino'
import { readableLine } from './readable-line.ts'

export type Log = Logger

/** Takes whole lines of JSON, each with its line end. */
export interface LogStream {
  write(lines: string): void
}

/** Standard error, written before `write` returns: as JSON, or as text for a person at a terminal. */
export function logStream({ isTerminal = false } = {}): LogStream {
  const stderr = pino.destination({ dest: 2, sync: true })
  if (!isTerminal) return stderr
  return { write: lines => void stderr.write(lines.trimEnd().split('\n').map(readableLine).join('')) }
}

/** Names of fields that may hold a secret, at the top and one level down. */
const secretFields = ['authorization', 'cookie', 'key', 'api_key', 'token', 'password', 'secret', 'x-api-key']

const redact = { paths: secretFields.flatMap(name => [`["${name}"]`, `*["${name}"]`]), censor: '[secret]' }

const line: LoggerOptions = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: label => ({ level: label }) },
  serializers: { err: pino.stdSerializers.errWithCause },
}

/** The process's logger: one line an entry, secrets removed by field name. */
export const createLog = (level: string, stream: LogStream = logStream()): Log =>
  pino({ ...line, level, redact }, stream)

/** For entries whose fields are fixed and hold no secrets: a search for them would cost as much as the line. */
export const createPlainLog = (level: string, stream: LogStream): Log => pino({ ...line, level }, stream)
