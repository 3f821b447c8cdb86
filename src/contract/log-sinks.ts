import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** Progress of one stream of a log sink. */
export const LogSinkState = named(
  'LogSinkState',
  Type.Object({
    name: Type.String(),
    type: Type.Union([Type.Literal('file'), Type.Literal('http'), Type.Literal('otlp')]),
    stream: Type.Union([Type.Literal('calls'), Type.Literal('bodies')], {
      description: '`calls`: rows of the usage ledger; `bodies`: recorded bodies',
    }),
    waiting: Type.Integer({ description: 'Rows that are not sent yet, counted up to 10,000' }),
    lag_ms: Type.Integer({ description: 'Age of the oldest row that is not sent yet; 0 without one' }),
    sent: Type.Integer({ description: 'Rows sent since the sink was added' }),
    last_sent_at: Nullable(DateTime),
    attempts: Type.Integer({ description: 'Failed attempts since the last success' }),
    failing_since: Nullable(DateTime),
    next_attempt_at: Nullable(DateTime, 'null: the last attempt succeeded'),
    last_error: Nullable(Type.String(), 'null: the last attempt succeeded'),
  }),
)
export type LogSinkState = Static<typeof LogSinkState>

export const logSinkRoutes = {
  list: route({
    id: 'log_sinks.list',
    method: 'GET',
    path: '/api/log-sinks',
    access: 'admin',
    errorShape: 'nested',
    responses: { 200: Type.Object({ log_sinks: Type.Array(LogSinkState) }) },
    summary: 'List log sinks',
    description:
      'Lists the log sinks of the configuration with their progress: how many rows wait, how far each stream lags behind, and the error of the last attempt. Answers 403 for limited admin keys.',
  }),
}
