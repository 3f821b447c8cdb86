import type { EndedRun } from '../open-runs.ts'
import type { EndedToolCall } from '../open-tool-calls.ts'
import type { TelemetryReceiver } from '../telemetry.ts'
import type { Instruments } from './instruments.ts'

/** Metrics of sessions, triggers and sweeps. */
export function createSessionMetrics(
  instruments: Instruments,
): Pick<TelemetryReceiver, 'leased' | 'ran' | 'followed' | 'swept' | 'ticked' | 'delivered'> {
  return {
    leased(isTakeover) {
      instruments.count('switchyard_leases_acquired_total')
      if (isTakeover) instruments.count('switchyard_takeovers_total')
    },
    // Runs are counted at their end.
    ran: () => {},
    followed(_sessionId, _event, { endedRun, endedCall }) {
      if (endedRun) countRun(instruments, endedRun)
      if (endedCall) countToolCall(instruments, endedCall)
    },
    swept(sweep, ms, isFailed) {
      const outcome = isFailed ? 'failed' : 'ok'
      instruments.observe('switchyard_sweep_duration_seconds', { sweep, outcome }, ms / 1000)
      if (!isFailed) instruments.set('switchyard_sweep_last_run_timestamp_seconds', Date.now() / 1000, { sweep })
    },
    ticked: state => instruments.count('switchyard_schedule_runs_total', { state }),
    delivered: (kind, outcome) => instruments.count('switchyard_deliveries_total', { kind, outcome }),
  }
}

function countRun(instruments: Instruments, { outcome, startMs, endMs }: EndedRun): void {
  instruments.count('switchyard_runs_total', { outcome })
  if (startMs !== undefined)
    instruments.observe('switchyard_run_duration_seconds', { outcome }, secondsOf({ startMs, endMs }))
}

function countToolCall(instruments: Instruments, call: EndedToolCall): void {
  const { kind, isError, isAwaited } = call
  instruments.count('switchyard_tool_calls_total', { kind, outcome: isError ? 'error' : 'ok' })
  if (!isAwaited) instruments.observe('switchyard_tool_call_duration_seconds', { kind }, secondsOf(call))
}

/** Clocks of replicas may differ, so a duration may be negative. */
const secondsOf = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): number =>
  Math.max(0, endMs - startMs) / 1000
