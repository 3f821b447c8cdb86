import { durationMs } from '../platform/durations.ts'
import type { RetentionSettings } from './config.ts'
import type { ConfigFile, Place } from './file.ts'

const dayMs = 24 * 60 * 60 * 1_000
/** A hundred years: the database must be able to reckon with it. */
const longestMs = 36_500 * dayMs

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place: Place) => void
}

/** How long things are kept: `12h`, `30d` or `never`, which deletes nothing. */
export function retentionOfFile({ file, report }: Reading): RetentionSettings {
  const timeOf = (name: string, text: string | undefined, fallback: number | undefined): number | undefined => {
    if (text === undefined) return fallback
    if (text === 'never') return undefined
    const ms = durationMs(text)
    if (ms !== undefined && ms > 0 && ms <= longestMs) return ms
    report(`retention.${name} must be a time such as 12h or 30d, or never`, file.place(['retention', name]))
    return undefined
  }
  const { retention = {} } = file.value
  return {
    deletedSessionsMs: timeOf('deleted_sessions', retention.deleted_sessions, 7 * dayMs),
    deliveriesMs: timeOf('deliveries', retention.deliveries, 7 * dayMs),
    sessionsMs: timeOf('sessions', retention.sessions, undefined),
    bodiesMs: timeOf('bodies', retention.bodies, 7 * dayMs),
    ledgerMs: timeOf('ledger', retention.ledger, undefined),
    auditMs: timeOf('audit', retention.audit, undefined),
  }
}
