import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Config } from '../config/config.ts'
import type { LogSinkSettings } from '../config/export-settings.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import { createFileSink } from '../log-sinks/file-sink.ts'
import { createRemoteSink } from '../log-sinks/remote-sink.ts'
import { serveLogSinks } from '../log-sinks/routes.ts'
import { createShipping } from '../log-sinks/shipping.ts'
import { logSinkStore } from '../log-sinks/store.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  readonly config: Pick<Config, 'logSinks'>
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly vault: Pick<Vault, 'value'>
  readonly guard: () => Outbound
}

/** Export of the usage ledger and of recorded bodies to the log sinks of the configuration. */
export function composeLogSinks({ config, log, keyring, pool, vault, guard }: Needs) {
  const store = logSinkStore(pool)
  const secretOf = (name: string) => vault.value({ name, ownerId: undefined })
  const sinkOf = (settings: LogSinkSettings) =>
    settings.type === 'file' ? createFileSink(settings) : createRemoteSink(settings, { guard, secretOf })
  const shipping = createShipping({
    sinks: config.logSinks.map(settings => ({ sink: sinkOf(settings), bodiesUntilMs: settings.bodiesUntilMs })),
    store,
    cipher: createRowCipher(keyring, 'call_bodies'),
    log,
  })
  const parts: readonly Part[] = [
    { name: 'log sinks', isSessionWork: true, start: shipping.start, stop: shipping.stop },
  ]
  return {
    parts,
    serve: (app: FastifyInstance) => serveLogSinks(app, { sinks: config.logSinks, store }),
  }
}
