import type { RetentionSettings } from '../../../src/server/config/config.ts'

/** Settings with which retention keeps everything. */
export const noRetention: RetentionSettings = {
  deletedSessionsMs: undefined,
  deliveriesMs: undefined,
  sessionsMs: undefined,
  filesMs: undefined,
  batchesMs: undefined,
  bodiesMs: undefined,
  ledgerMs: undefined,
  auditMs: undefined,
  experimentsMs: undefined,
}
