import { access, constants, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { KubernetesSandbox } from './config/agent-settings.ts'
import type { Config, Environment, Overrides } from './config/config.ts'
import { ConfigError, loadConfig } from './config/load.ts'
import { createPool } from './db/connect.ts'
import { packagedBuild } from './db/embedded/binaries.ts'
import { pendingMigrations } from './db/migrate.ts'
import { reasonOf } from './db/reachable.ts'
import { bubblewrapRemedy } from './sandboxes/bubblewrap-remedy.ts'
import { chooseDriver } from './sandboxes/choose-driver.ts'
import { createKubernetesApi } from './sandboxes/kubernetes/api.ts'
import { examineCluster } from './sandboxes/kubernetes/checks.ts'
import { sandboxLimits } from './sandboxes/sandbox.ts'
import { portProblem } from './start-checks.ts'

/** Result of one check. It never contains a secret. */
export interface Finding {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do; absent when the state is `ok`. */
  readonly next?: string
}

interface Inputs {
  readonly env: Environment
  readonly overrides: Overrides
}

interface Examination extends Inputs {
  /** Names of the providers that are stored in the running service, if there is one. */
  readonly storedProviders: readonly string[]
}

/** Checks whether a server could start here, without starting it. A trial run of the sandbox leaves no session. */
export async function examine({ storedProviders, ...inputs }: Examination): Promise<Finding[]> {
  const { config, finding } = examineConfig(inputs)
  if (!config) return [finding, await examineSandbox(undefined)]
  return [
    finding,
    ...config.warnings.map(warned),
    examineModels(config, storedProviders),
    await examineDataDir(config.dataDir),
    await examineDatabase(config),
    await examineSandbox(config),
  ]
}

const warned = (warning: string): Finding => ({ name: 'configuration', state: 'warn', detail: warning })

function examineConfig(inputs: Inputs): { config: Config | undefined; finding: Finding } {
  const name = 'configuration'
  try {
    const config = loadConfig(inputs)
    return { config, finding: { name, state: 'ok', detail: config.file ?? 'from the environment, without a file' } }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const next = 'correct these settings, then run "switchyard doctor" again'
    return { config: undefined, finding: { name, state: 'fail', detail: error.message, next } }
  }
}

/** Lists the names of providers only, never their keys. */
function examineModels({ deployments, demo }: Config, stored: readonly string[]): Finding {
  const name = 'model providers'
  const providers = [...new Set([...deployments.map(({ provider }) => provider), ...stored])]
  if (providers.length > 0) return { name, state: 'ok', detail: providers.join(', ') }
  const detail = demo ? 'none; only the scripted model "demo" is available' : 'none, and the model "demo" is disabled'
  const next =
    'set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY or OLLAMA_HOST, or store a key in the ' +
    'running service: "switchyard providers set"'
  return { name, state: 'warn', detail, next }
}

async function examineDataDir(dataDir: string): Promise<Finding> {
  const name = 'data folder'
  const folder = resolve(dataDir)
  const existing = await nearestExisting(folder)
  const detail = existing === folder ? folder : `${folder} (does not exist yet)`
  try {
    if (!(await stat(existing)).isDirectory()) throw new Error(`${existing} is not a folder`)
    await access(existing, constants.R_OK | constants.W_OK | constants.X_OK)
    return { name, state: 'ok', detail }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const next = 'make it writable for this user, or choose another folder with --data-dir or SWITCHYARD_DATA_DIR'
    return { name, state: 'fail', detail: `${detail}: ${reason}`, next }
  }
}

async function nearestExisting(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  return found || dirname(path) === path ? path : nearestExisting(dirname(path))
}

function examineDatabase({ databaseUrl }: Config): Promise<Finding> | Finding {
  return databaseUrl === undefined ? examineEmbedded() : examineServer(databaseUrl)
}

function examineEmbedded(): Finding {
  const name = 'database'
  try {
    const { version } = packagedBuild()
    return { name, state: 'ok', detail: `embedded PostgreSQL ${version} in the data folder` }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return { name, state: 'fail', detail, next: 'run "npm ci" again, or set DATABASE_URL' }
  }
}

async function examineServer(url: string): Promise<Finding> {
  const name = 'database'
  const pool = createPool({ url, max: 1, connectTimeoutMs: 3_000, onLost: () => undefined })
  try {
    const { rows } = await pool.query<{ server_version: string }>('show server_version')
    const version = `PostgreSQL ${rows[0]?.server_version ?? ''}`
    const pending = await pendingMigrations(pool)
    if (pending.length === 0) return { name, state: 'ok', detail: `${version}, up to date` }
    const next = 'the next start applies them; "switchyard migrate" applies them now'
    return { name, state: 'warn', detail: `${version}, pending migrations: ${pending.join(', ')}`, next }
  } catch (error) {
    const detail = `DATABASE_URL: ${reasonOf(error)}`
    return { name, state: 'fail', detail, next: 'check that the database runs, and its address, user and password' }
  } finally {
    await pool.end()
  }
}

async function examineSandbox(config: Config | undefined): Promise<Finding> {
  const name = 'sandbox'
  const settings = config?.sandbox
  if (settings?.kubernetes) return await examineKubernetes(settings.kubernetes)
  const prefer = settings?.driver === 'auto' ? undefined : settings?.driver
  const workspacesDir = join(resolve(config?.dataDir ?? '.'), 'workspaces')
  try {
    const choice = await chooseDriver({ prefer, limits: sandboxLimits, settings, workspacesDir, log: unlogged })
    const { driver, detail, problem } = choice
    await driver.close?.()
    if (problem === undefined) return { name, state: 'ok', detail: `${driver.name}: ${detail}` }
    const simulated = `tools run in a simulated shell without real programs: ${problem}`
    return { name, state: 'warn', detail: simulated, next: bubblewrapRemedy(problem) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const next = prefer === 'bubblewrap' ? bubblewrapRemedy(reason) : 'correct this, or set another sandbox.driver'
    return { name, state: 'fail', detail: reason, next }
  }
}

const unlogged = { info: () => undefined, warn: () => undefined }

/** Checks the cluster without creating anything in it. */
async function examineKubernetes(settings: KubernetesSandbox): Promise<Finding> {
  const name = 'sandbox'
  const api = createKubernetesApi(settings.api, { retryMs: 3_000 })
  try {
    const remarks = await examineCluster(api, settings)
    const detail = ['kubernetes: the server tries it out when it starts', ...remarks].join('; ')
    return { name, state: 'ok', detail }
  } catch (error) {
    const next = 'see docs/sandboxes-kubernetes.md; the server does not start without it'
    return { name, state: 'fail', detail: error instanceof Error ? error.message : String(error), next }
  } finally {
    api.close()
  }
}

/** Checks whether a server could listen on the configured address; undefined when the configuration is invalid. */
export async function examinePort({ env, overrides }: Inputs): Promise<Finding | undefined> {
  const { config } = examineConfig({ env, overrides })
  if (!config) return undefined
  const { host, port } = config
  const problem = await portProblem({ host, port })
  const name = 'port'
  if (!problem) return { name, state: 'ok', detail: `${port} on ${host} is free` }
  const [detail = '', next = ''] = problem.text.split('; ')
  return { name, state: 'fail', detail, next }
}
