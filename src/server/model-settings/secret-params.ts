import { credentialParams } from '../../contract/model-params.ts'
import { isRecord } from '../platform/json.ts'
import { hidden, masked } from '../platform/mask.ts'

/** Parameters of a model or a credential, with the names of the configuration file. */
export type Params = Readonly<Record<string, unknown>>

const secretNames: ReadonlySet<string> = new Set([...credentialParams, 'headers'])

/** Returns the parameters that are or contain secrets; undefined if there are none. */
export function secretsOf(params: Params): Params | undefined {
  const secrets = Object.entries(params).filter(([name]) => secretNames.has(name))
  return secrets.length === 0 ? undefined : Object.fromEntries(secrets)
}

/** Returns `params` with masked secrets, to show and to store in plaintext. */
export const shownParams = (params: Params): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, secretNames.has(name) ? maskOf(name, value) : value]),
  )

function maskOf(name: string, value: unknown): unknown {
  // The end of a service account is the same for all.
  if (name === 'vertex_credentials') return hidden
  if (isRecord(value)) return Object.fromEntries(Object.keys(value).map(header => [header, maskOf('', value[header])]))
  return typeof value === 'string' ? masked(value) : hidden
}

/** Returns `current` with the parameters of `given` replaced; null removes one. */
export function mergedParams(current: Params, given: Params): Record<string, unknown> {
  const merged = Object.entries({ ...current, ...given }).filter(([, value]) => value !== null)
  return Object.fromEntries(merged.map(([name, value]) => [name, asText(name, value)]))
}

/** A service account may be sent as an object; it is stored as text. */
const asText = (name: string, value: unknown): unknown =>
  name === 'vertex_credentials' && isRecord(value) ? JSON.stringify(value) : value
