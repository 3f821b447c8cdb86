import { dim, type Piece, plain } from './out.ts'

interface ServerFacts {
  readonly url: string
  readonly database: 'embedded' | 'external'
  readonly sandboxDriver: string
  readonly models: readonly string[]
  readonly workers: number
}

interface Settings {
  readonly masterKey: string | undefined
  readonly insecureNoAuth: boolean
  readonly dataDir: string
  readonly console: boolean
}

const maxModels = 6

/** Lines that `serve` prints after the start: address, settings in effect, and the next step. */
export function bannerLines(
  { url, database, sandboxDriver, models, workers }: ServerFacts,
  settings: Settings,
): Piece[][] {
  const { dataDir } = settings
  const row = (name: string, text: string): Piece[] => [dim(`  ${name.padEnd(10)}`), plain(text)]
  return [
    [{ text: `Switchyard is ready at ${url}`, tone: 'good' }],
    ...(settings.console ? [row('console', url)] : []),
    row('reference', `${url}/docs`),
    row('access', accessText(settings)),
    row('database', database === 'embedded' ? `embedded PostgreSQL in ${dataDir}` : 'PostgreSQL of DATABASE_URL'),
    row('models', modelsText(models)),
    ...(workers > 1 ? [row('workers', `${workers} processes`)] : []),
    row('sandbox', sandboxText(sandboxDriver)),
    row('try', quickstartText(url)),
    row('or', curlText(url, settings.masterKey !== undefined)),
  ]
}

function accessText({ masterKey, insecureNoAuth }: Settings): string {
  if (masterKey !== undefined) return 'a key is required (Authorization: Bearer ...)'
  return insecureNoAuth ? 'AUTHENTICATION IS OFF for all addresses' : 'authentication is off; loopback only'
}

function modelsText(models: readonly string[]): string {
  if (models.length === 0) return 'none; set a provider key such as ANTHROPIC_API_KEY'
  if (models.length === 1 && models[0] === 'demo') {
    return 'demo (scripted responses; set a provider key such as ANTHROPIC_API_KEY for a real model)'
  }
  const rest = models.length - maxModels
  return `${models.slice(0, maxModels).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`
}

const sandboxText = (driver: string): string =>
  driver === 'virtual' ? 'simulated shell without real programs ("switchyard doctor" says why)' : driver

/**
 * Adds `--url` unless the port is the default, because a shell with another data folder finds only the default port.
 */
const quickstartText = (url: string): string =>
  `npm run quickstart -- "What files are in your workspace?"${url.endsWith(':4000') ? '' : ` --url ${url}`}`

const curlText = (url: string, needsKey: boolean): string =>
  `curl ${needsKey ? '-H "Authorization: Bearer $GATEWAY_MASTER_KEY" ' : ''}${url}/v1/models`
