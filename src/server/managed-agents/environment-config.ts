import { type Environment, type EnvironmentConfig, packageManagers } from '../../contract/environments.ts'
import { invalid } from '../platform/errors.ts'

type Stored = Environment['config']
type Fields = Readonly<Record<string, unknown>>

/** Returns the configuration with all defaults. Source: Dialects, section 1.4. */
export function resolvedConfig(given: EnvironmentConfig | null | undefined): Stored {
  if (given?.type === 'self_hosted') return { type: 'self_hosted' }
  return {
    type: 'cloud',
    networking: networkingOf(given?.networking ?? {}, {}),
    packages: packagesOf(given?.packages ?? {}, {}),
  }
}

/** Returns the configuration after an update. Absent fields are unchanged, and the type never changes. */
export function updatedConfig(current: Stored, given: EnvironmentConfig | null | undefined): Stored {
  if (given === null || given === undefined) return current
  if (given.type !== current['type']) {
    throw invalid(`config.type is ${JSON.stringify(current['type'])} and cannot change; create another environment`)
  }
  if (given.type === 'self_hosted') return current
  return {
    type: 'cloud',
    networking: networkingOf(given.networking ?? {}, fieldsIn(current['networking'])),
    packages: packagesOf(given.packages ?? {}, fieldsIn(current['packages'])),
  }
}

function networkingOf(given: Fields, current: Fields): Fields {
  const type = given['type'] ?? current['type'] ?? 'unrestricted'
  if (type !== 'limited') return { type: 'unrestricted' }
  return {
    type: 'limited',
    allowed_hosts: given['allowed_hosts'] ?? current['allowed_hosts'] ?? [],
    allow_mcp_servers: given['allow_mcp_servers'] ?? current['allow_mcp_servers'] ?? false,
    allow_package_managers: given['allow_package_managers'] ?? current['allow_package_managers'] ?? false,
  }
}

function packagesOf(given: Fields, current: Fields): Fields {
  const lists = packageManagers.map(name => [name, given[name] ?? current[name] ?? []])
  return { type: 'packages', ...Object.fromEntries(lists) }
}

const fieldsIn = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
