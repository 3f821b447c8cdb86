import { durationMs } from '../platform/durations.ts'
import type { RetentionSettings } from './config.ts'
import type { ConfigFile, Place } from './file.ts'

const dayMs = 24 * 60 * 60 * 1_000
/** 100 years, which PostgreSQL can still subtract from a date. */
const maxMs = 36_500 * dayMs

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place: Place) => void
}

/** Returns the retention times: `12h`, `30d` or `never`, which keeps data forever. */
export function retentionOfFile({ file, report }: Reading): RetentionSettings {
  const timeOf = (name: string, text: string | undefined, fallback: number | undefined): number | undefined => {
    if (text === undefined) return fallback
    if (text === 'never') return undefined
    const ms = durationMs(text)
    if (ms !== undefined && ms > 0 && ms <= maxMs) return ms
    report(`retention.${name} must be a time such as 12h or 30d, or never`, file.place(['retention', name]))
    return undefined
  }
  const { retention = {} } = file.value
  return {
    deletedSessionsMs: timeOf('deleted_sessions', retention.deleted_sessions, 7 * dayMs),
    deliveriesMs: timeOf('deliveries', retention.deliveries, 7 * dayMs),
    sessionsMs: timeOf('sessions', retention.sessions, undefined),
    filesMs: timeOf('files', retention.files, undefined),
    bodiesMs: timeOf('bodies', retention.bodies, 7 * dayMs),
    ledgerMs: timeOf('ledger', retention.ledger, undefined),
    auditMs: timeOf('audit', retention.audit, undefined),
  }
}
