import type { McpServerUpdate } from '../../../contract/mcp.ts'
import { invalid } from '../../platform/errors.ts'
import type { ServerRow, ServerValues } from './store.ts'

/** Throws for values that the contract names, but that have no effect here. Security: S30. */
export function rejectUnsupported({ transport }: McpServerUpdate): void {
  if (transport === 'sse') throw invalid('transport sse is not supported; use http (streamable HTTP)')
  if (transport === 'stdio')
    throw invalid('transport stdio is supported in the configuration file only; use http (streamable HTTP)')
}

/** Returns the value after a write: absent keeps the old one, null removes it. */
export const keep = <T>(given: T | null | undefined, old: T | null | undefined): T | null =>
  given === undefined ? (old ?? null) : given

/** Returns the OAuth flow after a write; null for another way to authenticate. */
export function flowAfter(
  { oauth2_flow: given }: McpServerUpdate,
  type: ServerValues['auth_type'],
  before: ServerRow | undefined,
) {
  if (type === 'oauth2') return keep(given, before?.oauth2_flow) ?? 'client_credentials'
  if (given) throw invalid('oauth2_flow needs auth_type oauth2')
  return null
}
