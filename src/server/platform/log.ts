import { type Logger, type LoggerOptions, pino } from 'pino'
import { readableLine } from './readable-line.ts'

export type Log = Logger

/** Takes whole lines of JSON, each with its line end. */
export interface LogStream {
  write(lines: string): void
}

interface StreamOptions {
  /** True: a person reads the log, so its lines are text. */
  readonly isTerminal?: boolean
  /** True when other processes write to the same standard error. */
  readonly isShared?: boolean
}

/** Standard error, written before `write` returns: as JSON, or as text for a person at a terminal. */
export function logStream({ isTerminal = false, isShared = false }: StreamOptions = {}): LogStream {
  const stderr = pino.destination({ dest: 2, sync: true })
  const writeInPieces = (lines: string) => {
    for (const piece of piecesOf(lines)) stderr.write(piece)
  }
  const stream: LogStream = isShared ? { write: writeInPieces } : stderr
  if (!isTerminal) return stream
  return { write: lines => stream.write(lines.trimEnd().split('\n').map(readableLine).join('')) }
}

/** What a pipe takes in one piece on Linux (PIPE_BUF): longer writes of several processes can mix in the middle of a line. */
const pieceBytes = 4_096

/** The same lines in pieces that a pipe takes whole. A line that is longer than such a piece is one by itself. */
export function piecesOf(lines: string): string[] {
  const pieces: string[] = []
  let room = 0
  for (const line of lines.match(/[^\n]*\n/g) ?? []) {
    const bytes = Buffer.byteLength(line)
    if (bytes <= room) {
      pieces.push(`${pieces.pop()}${line}`)
      room -= bytes
    } else {
      pieces.push(line)
      room = pieceBytes - bytes
    }
  }
  return pieces
}

/** Names of fields that may hold a secret, at the top and one level down. */
const secretFields = ['authorization', 'cookie', 'key', 'api_key', 'token', 'password', 'secret', 'x-api-key']

const redact = { paths: secretFields.flatMap(name => [`["${name}"]`, `*["${name}"]`]), censor: '[secret]' }

/** What every line of a process says of it. */
export interface LogOrigin {
  /** Its number among the processes of `WORKERS`; absent when it is the only one. */
  readonly worker?: number
}

const line: LoggerOptions = {
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: label => ({ level: label }) },
  serializers: { err: serializedError },
}

/** Database errors carry the client that they came from, with all of its state. */
function serializedError(error: Error): object {
  const { client: _, ...shown } = pino.stdSerializers.errWithCause(error) as pino.SerializedError & { client?: unknown }
  return shown
}

/** The process's logger: one line an entry, secrets removed by field name. */
export const createLog = (level: string, stream: LogStream = logStream(), origin?: LogOrigin): Log =>
  pino({ ...line, base: baseOf(origin), level, redact }, stream)

/** Null, not an empty object: Node's process id and host stay out of the lines. */
const baseOf = (origin: LogOrigin = {}) => (origin.worker === undefined ? null : { ...origin })
