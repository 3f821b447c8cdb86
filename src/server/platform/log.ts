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

/** The process's logger: one line an entry, secrets removed by field name. */
export function createLog(level: string, stream: LogStream = logStream()): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    redact: { paths: secretFields.flatMap(name => [`["${name}"]`, `*["${name}"]`]), censor: '[secret]' },
    serializers: { err: pino.stdSerializers.errWithCause },
  }
  return pino(options, stream)
}
