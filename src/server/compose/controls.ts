import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { createFreezeSettings } from '../controls/freeze-settings.ts'
import type { FreezeStore } from '../controls/freeze-store.ts'
import type { Freezes } from '../controls/freezes.ts'
import { serveControls } from '../controls/routes.ts'
import { runningStore } from '../controls/running-store.ts'
import { createStops } from '../controls/stops.ts'
import { transaction } from '../db/connect.ts'
import { sqlOfClient } from '../db/once.ts'
import type { Keys } from '../keys/keys.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface Needs {
  readonly pool: Pool
  readonly audit: Audit
  readonly keys: Keys
  readonly sessions: Sessions
  readonly freezes: Freezes
  readonly freezeRows: FreezeStore
}

/** The kill switches: what runs, stopping it, and freezing what may be spent. */
export function composeControls({ pool, audit, keys, sessions, freezes, freezeRows }: Needs) {
  const running = runningStore(pool)
  const record = (entry: Parameters<Audit['record']>[1]) =>
    transaction(pool, client => audit.record(sqlOfClient(client), entry))
  const stops = createStops({ store: running, sessions, keys, record })
  const settings = createFreezeSettings({ pool, store: freezeRows, freezes, keys, audit })
  return {
    serve: (app: FastifyInstance) => serveControls(app, { running, stops, freezes: settings }),
  }
}
