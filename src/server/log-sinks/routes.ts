import type { FastifyInstance } from 'fastify'
import { type LogSinkState, logSinkRoutes } from '../../contract/log-sinks.ts'
import type { LogSinkSettings } from '../config/export-settings.ts'
import { bind } from '../http/bind.ts'
import { rejectNarrow } from '../http/reach.ts'
import type { LogSinkStore, StreamState } from './store.ts'

interface Deps {
  readonly sinks: readonly LogSinkSettings[]
  readonly store: Pick<LogSinkStore, 'states'>
}

/** Serves the progress of the configured log sinks. */
export function serveLogSinks(app: FastifyInstance, { sinks, store }: Deps): void {
  bind(app, logSinkRoutes.list, async (_input, caller) => {
    rejectNarrow({ caller })
    const states = await store.states(sinks)
    const typeOf = new Map(sinks.map(({ name, type }) => [name, type]))
    return {
      log_sinks: states.flatMap(state => {
        const type = typeOf.get(state.name)
        return type ? [stateOf(state, type)] : []
      }),
    }
  })
}

const stateOf = (state: StreamState, type: LogSinkSettings['type']): LogSinkState => ({
  name: state.name,
  type,
  stream: state.stream,
  waiting: state.waiting,
  lag_ms: Math.max(0, Math.round(state.lag_ms ?? 0)),
  sent: state.sent,
  last_sent_at: timeOf(state.last_sent_at),
  attempts: state.attempts,
  failing_since: timeOf(state.failing_since),
  next_attempt_at: timeOf(state.next_attempt_at),
  last_error: state.last_error,
})

const timeOf = (date: Date | null): string | null => date?.toISOString() ?? null
