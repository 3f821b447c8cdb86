import type { Environment, Overrides, SettingSources } from './config.ts'
import { nonBlank } from './data-dir.ts'
import type { ConfigFile } from './file.ts'
import { providers } from './providers.ts'

const variables: readonly string[] = [
  'GATEWAY_MASTER_KEY',
  'HOST',
  'PORT',
  'DATABASE_URL',
  'SWITCHYARD_DATA_DIR',
  'SWITCHYARD_ENCRYPTION_KEY',
  'SWITCHYARD_CONFIG',
  'SWITCHYARD_ROLE',
  'SWITCHYARD_DRAIN_DELAY_MS',
  'WORKERS',
  'LOG_LEVEL',
  'OLLAMA_HOST',
  ...Object.values(providers).flatMap(({ keyVariable }) => keyVariable ?? []),
]

/** Returns where the settings were given. */
export function settingSources(given: {
  readonly file: Pick<ConfigFile, 'value'>
  readonly env: Environment
  readonly overrides: Overrides
}): SettingSources {
  const paths = Object.entries(given.file.value).flatMap(([block, value]) => {
    const isBlock = typeof value === 'object' && value !== null && !Array.isArray(value)
    return [block, ...(isBlock ? Object.keys(value).map(key => `${block}.${key}`) : [])]
  })
  return {
    file: paths,
    environment: variables.filter(name => nonBlank(given.env[name]) !== undefined),
    options: Object.keys(given.overrides),
  }
}
