import { type Logger, type LoggerOptions, pino } from 'pino'
import { readableLine } from './readable-line.ts'

export type Log = Logger

/** Destination of complete JSON lines, each with its line ending. */
export interface LogStream {
  write(lines: string): void
}

interface StreamOptions {
  /** True: writes readable text, for a person at a terminal. */
  readonly isTerminal?: boolean
  /** True if other processes write to the same standard error. */
  readonly isShared?: boolean
}

/** Returns a synchronous stream to standard error: JSON, or text for a person at a terminal. */
export function logStream({ isTerminal = false, isShared = false }: StreamOptions = {}): LogStream {
  const stderr = pino.destination({ dest: 2, sync: true })
  const writeInPieces = (lines: string) => {
    for (const piece of piecesOf(lines)) stderr.write(piece)
  }
  const stream: LogStream = isShared ? { write: writeInPieces } : stderr
  if (!isTerminal) return stream
  return { write: lines => stream.write(lines.trimEnd().split('\n').map(readableLine).join('')) }
}

/** Atomic write size of a pipe on Linux (PIPE_BUF): longer writes of several processes can interleave within a line. */
const pieceBytes = 4_096

/** Splits lines into pieces that a pipe writes atomically. A longer line is a separate piece. */
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

/** Names of fields that may contain a secret, at the top level and one level below. */
const secretFields = ['authorization', 'cookie', 'key', 'api_key', 'token', 'password', 'secret', 'x-api-key']

const redact = { paths: secretFields.flatMap(name => [`["${name}"]`, `*["${name}"]`]), censor: '[secret]' }

/** Fields of every log line that identify the process. */
export interface LogOrigin {
  /** Number among the processes of `WORKERS`; absent for a single process. */
  readonly worker?: number
}

const line: LoggerOptions = {
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: label => ({ level: label }) },
  serializers: { err: serializedError },
}

/** Removes from database errors and causes the state of the connection (`client`) and values of the row (`detail`). */
function serializedError(error: Error): object {
  return withoutValues(pino.stdSerializers.errWithCause(error))
}

function withoutValues({ client: _client, detail: _detail, cause, ...shown }: SerializedError): object {
  const isError = typeof cause === 'object' && cause !== null
  return { ...shown, ...(cause !== undefined && { cause: isError ? withoutValues(cause as SerializedError) : cause }) }
}

type SerializedError = pino.SerializedError & { client?: unknown; detail?: unknown; cause?: unknown }

/** Returns the logger of the process: one line per entry, secrets redacted by field name. */
export const createLog = (level: string, stream: LogStream = logStream(), origin?: LogOrigin): Log =>
  pino({ ...line, base: baseOf(origin), level, redact }, stream)

/** Null omits the pid and host that pino adds by default. */
const baseOf = (origin: LogOrigin = {}) => (origin.worker === undefined ? null : { ...origin })
