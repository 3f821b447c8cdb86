import type { ErrorCode } from '../../contract/error-codes.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { UsageRow } from '../usage/store.ts'

/** A deployment, as far as labels name it. */
export interface CalledDeployment {
  readonly alias: string
  readonly provider: string
}

/** Work that runs at intervals. */
export type SweepName = 'budgets' | 'disposal' | 'retention' | 'schedules' | 'sessions'

/** Way of a message between the service and another program. */
export type DeliveryKind = 'webhook' | 'endpoint' | 'reply'

/**
 * Receives what happens in this process, for metrics and traces. Methods never throw and return at once: they are on
 * the path of calls and of runs.
 */
export interface Telemetry {
  /** A model call has ended and was booked. */
  called(row: UsageRow): void
  /** The gateway itself answered a model call with an error. */
  rejected(code: ErrorCode): void
  /** A budget or rate limit admitted a call, or rejected it with this code. */
  reserved(result: 'reserved' | ErrorCode): void
  /** A deployment started to cool down after failures. */
  cooled(deployment: CalledDeployment, errorClass: string): void
  /** This process acquired a session. `isTakeover`: from an owner that did not hand it over. */
  leased(isTakeover: boolean): void
  /** This process stored events of a session. */
  stored(sessionId: string, events: readonly SessionEvent[]): void
  /** A sweep ended. `isFailed`: it threw. */
  swept(name: SweepName, ms: number, isFailed: boolean): void
  /** A run of a schedule was settled. */
  ticked(state: string): void
  /** A webhook was received, or an attempt to send a message ended. */
  delivered(kind: DeliveryKind, outcome: string): void
}

/** Does nothing. */
export const noTelemetry: Telemetry = {
  called: () => {},
  rejected: () => {},
  reserved: () => {},
  cooled: () => {},
  leased: () => {},
  stored: () => {},
  swept: () => {},
  ticked: () => {},
  delivered: () => {},
}

/** Returns a telemetry that passes everything to each of `receivers`; `noTelemetry` without any. */
export function combined(receivers: readonly Telemetry[]): Telemetry {
  const [first, ...others] = receivers
  if (!first) return noTelemetry
  if (others.length === 0) return first
  const all = (use: (receiver: Telemetry) => void): void => {
    for (const receiver of receivers) use(receiver)
  }
  return {
    called: row => all(receiver => receiver.called(row)),
    rejected: code => all(receiver => receiver.rejected(code)),
    reserved: result => all(receiver => receiver.reserved(result)),
    cooled: (deployment, errorClass) => all(receiver => receiver.cooled(deployment, errorClass)),
    leased: isTakeover => all(receiver => receiver.leased(isTakeover)),
    stored: (sessionId, events) => all(receiver => receiver.stored(sessionId, events)),
    swept: (name, ms, isFailed) => all(receiver => receiver.swept(name, ms, isFailed)),
    ticked: state => all(receiver => receiver.ticked(state)),
    delivered: (kind, outcome) => all(receiver => receiver.delivered(kind, outcome)),
  }
}
