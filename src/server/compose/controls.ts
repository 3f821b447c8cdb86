import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { BatchPayers } from '../batches/batch-store.ts'
import { createFreezeSettings } from '../controls/freeze-settings.ts'
import type { FreezeStore } from '../controls/freeze-store.ts'
import type { Freezes } from '../controls/freezes.ts'
import { serveControls } from '../controls/routes.ts'
import { runningStore } from '../controls/running-store.ts'
import { createStops } from '../controls/stops.ts'
import type { Target } from '../controls/target.ts'
import { transaction } from '../db/connect.ts'
import { hint } from '../db/hints.ts'
import type { Notifications } from '../db/notifications.ts'
import { sqlOfClient } from '../db/once.ts'
import type { Background } from '../gateway/background/background.ts'
import type { StoppedPayer } from '../gateway/core/client-calls.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Keys } from '../keys/keys.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface Needs {
  readonly pool: Pool
  readonly notifications: Pick<Notifications, 'on'>
  readonly audit: Audit
  readonly gateway: Pick<Gateway, 'stopCalls'>
  readonly background: Pick<Background, 'cancelAll'>
  /** Cancels all batches of a principal or of keys. */
  readonly cancelBatches: (payers: BatchPayers) => Promise<void>
  readonly keys: Keys
  readonly sessions: Sessions
  readonly freezes: Freezes
  readonly freezeRows: FreezeStore
  /** Cancels running experiments. */
  readonly stopExperiments: Parameters<typeof createStops>[0]['stopExperiments']
}

/** Notifies every process which model calls to stop. */
const stopChannel = 'stopped_calls'

/** Kill switches: list running work, stop it, and freeze spending. */
export function composeControls(needs: Needs) {
  const { pool, notifications, audit, gateway, keys, sessions, freezes, freezeRows, stopExperiments } = needs
  const running = runningStore(pool)
  const record = (entry: Parameters<Audit['record']>[1]) =>
    transaction(pool, client => audit.record(sqlOfClient(client), entry))
  notifications.on(stopChannel, payload => void gateway.stopCalls(JSON.parse(payload) as StoppedPayer))
  /** Notifies the process of a client's call by a hint. When the hint is lost, the call runs to its end. */
  const stopCalls = async ({ scope, id }: Target) => {
    if (scope === 'session' || scope === 'agent') return
    const payers = {
      principal: scope === 'owner' ? id : undefined,
      keys: scope === 'key' ? await running.lineOf(id) : undefined,
    }
    await needs.background.cancelAll(payers)
    await needs.cancelBatches(payers)
    hint(pool, stopChannel, JSON.stringify({ scope, id }))
  }
  const stops = createStops({ store: running, sessions, keys, record, stopCalls, stopExperiments })
  const settings = createFreezeSettings({ pool, store: freezeRows, freezes, keys, audit })
  return {
    serve: (app: FastifyInstance) => serveControls(app, { running, stops, freezes: settings }),
  }
}
