import { type Logger, pino } from 'pino'

export type Log = Logger

/** Names of fields that may hold a secret, at the top and one level down. */
const secretFields = ['authorization', 'cookie', 'key', 'api_key', 'token', 'password', 'secret', 'x-api-key']

/** The process's logger: JSON lines on stderr, secrets removed by field name. */
export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretFields.flatMap(name => [`["${name}"]`, `*["${name}"]`]), censor: '[secret]' },
      serializers: { err: pino.stdSerializers.errWithCause },
    },
    pino.destination({ dest: 2, sync: true }),
  )
}
