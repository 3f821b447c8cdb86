import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { type Audit, createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { credentialStore } from '../../../src/server/model-settings/credential-store.ts'
import { deploymentStore } from '../../../src/server/model-settings/deployment-store.ts'
import type { BaseConfig } from '../../../src/server/model-settings/in-force.ts'
import { createModelSettings } from '../../../src/server/model-settings/model-settings.ts'
import { createModelsInForce } from '../../../src/server/model-settings/models-in-force.ts'
import { createProviders } from '../../../src/server/model-settings/providers.ts'
import { serveModelSettings, serveProviders } from '../../../src/server/model-settings/routes.ts'
import { createSettingsEncryption } from '../../../src/server/model-settings/stored-settings.ts'
import { changeChannel, settingsVersion } from '../../../src/server/model-settings/version-store.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { freshDatabase } from '../service/database.ts'
import { deploymentAt } from './gateway-app.ts'

/** A secret that no answer may hold. */
export const canary = 'sk-canary-0123456789-wxyz'

const sonnet = deploymentAt('https://api.anthropic.com', {
  id: 'sonnet.1',
  alias: 'sonnet',
  apiKey: canary,
  upstreamModel: 'claude-sonnet-5',
})
/** A configuration file with one model, `sonnet`. */
const config: BaseConfig = {
  deployments: [sonnet],
  modelsFrom: 'file',
  environmentKeys: {},
  demo: true,
  outboundAllow: ['127.0.0.1:11434'],
}

interface Given {
  readonly audit: Audit
  readonly caller: Caller
}

/** Servers with the routes of providers and models over one fresh database, beside a file that has the model `sonnet`. */
export async function settingsApps() {
  const { db, pool } = await freshDatabase()
  const encryption = createSettingsEncryption(createKeyring([randomBytes(32)]))

  /** A server, with what it would have the gateway serve. */
  function start({ audit = createAudit(auditStore(db)), caller = masterCaller }: Partial<Given> = {}) {
    const app = createServer({ authenticate: () => caller, log: createLog('silent') })
    const credentials = credentialStore(db, () => undefined)
    const deployments = deploymentStore(db, () => undefined)
    const served: { now: readonly Deployment[] } = { now: [] }
    const inForce = createModelsInForce({
      config,
      read: async () => ({
        credentials: (await credentials.all()).map(encryption.decryptCredential),
        models: (await deployments.all()).map(encryption.decryptModel),
      }),
      version: () => settingsVersion(pool),
      channel: changeChannel,
      notifications: { on: () => undefined, onReconnect: () => undefined },
      apply: all => {
        served.now = all
      },
      log: createLog('silent'),
    })
    const checkCredential = async ({ apiKey }: Deployment) => ({ latencyMs: 7, problem: apiKey ? undefined : 'no key' })
    serveProviders(app, {
      providers: createProviders({ store: credentials, encryption, inForce, audit, checkCredential }),
    })
    serveModelSettings(app, { models: createModelSettings({ store: deployments, encryption, inForce, audit }) })
    after(() => app.close())
    const call = async (line: string, payload?: object) => {
      const [method, url = ''] = line.split(' ')
      const answer = await app.inject({ method: method as 'GET', url, ...(payload && { payload }) })
      assert.doesNotMatch(answer.body, /canary/)
      return { status: answer.statusCode, body: answer.json() }
    }
    return { call, served, inForce }
  }

  return {
    pool,
    start,
    /** The newest row of the audit log. */
    lastAudit: async () =>
      (await pool.query('select action, object_id, before, after from audit_log order by id desc limit 1')).rows[0],
  }
}

/** The text of a rejection. */
export const messageOf = ({ body }: { body: { error: { message: string } } }): string => body.error.message
