import type { McpAuthType, Oauth2Flow } from '../../../contract/mcp.ts'
import { staticHeaderProblem } from '../../config/mcp-servers-of-file.ts'
import { isUnsendable } from '../../config/providers.ts'
import { createRowCipher, nextVersion } from '../../db/encrypted-rows.ts'
import { DecryptionError, type Keyring } from '../../platform/encryption.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { masked } from '../../platform/mask.ts'
import type { ServerSecret } from './server.ts'
import type { ServerRow, ServerValues } from './store.ts'

/** Encrypts and decrypts the secrets of servers. Each is bound to the address of its server. Security: S11, S25. */
export type ServerEncryption = ReturnType<typeof createServerEncryption>

export function createServerEncryption(keyring: Keyring) {
  const cipher = createRowCipher(keyring, 'mcp_servers')
  return {
    /** Returns the columns of a row that depend on its secrets. */
    columns(
      { server_id, url }: Pick<ServerRow, 'server_id' | 'url'>,
      secret: ServerSecret,
      before: number | undefined,
    ): Pick<ServerValues, 'has_credentials' | 'static_headers' | 'version' | 'sealed' | 'key_id'> {
      const version = nextVersion(before)
      const { static_headers = {}, ...credentials } = secret
      const shown = {
        has_credentials: Object.keys(credentials).length > 0,
        static_headers: maskedHeaders(static_headers),
        version,
      }
      if (!shown.has_credentials && Object.keys(static_headers).length === 0)
        return { ...shown, sealed: null, key_id: null }
      return { ...shown, ...cipher.encrypt(JSON.stringify(secret), { server_id, url, version }) }
    },

    decrypt(row: ServerRow): ServerSecret {
      const { sealed } = row
      if (!sealed) return {}
      try {
        return JSON.parse(cipher.decrypt({ ...row, sealed }).toString()) as ServerSecret
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error
        throw new AppError(
          'unavailable',
          `cannot decrypt the credential of MCP server ${row.server_name}: ${error.message}; store it again`,
          { cause: error },
        )
      }
    },
  }
}

/** Returns headers with masked values. */
export const maskedHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, masked(value)]))

interface Given {
  readonly credentials: Omit<ServerSecret, 'static_headers'>
  readonly flow: Oauth2Flow | null
  readonly vaultKey: string | null
  /** True if a server without a credential is an error. */
  readonly isRequired: boolean
}

/** Throws `invalid` for credentials that do not fit the authentication type. */
export function checkCredentials(type: McpAuthType, { credentials, flow, vaultKey, isRequired }: Given): void {
  const isGiven = Object.keys(credentials).length > 0
  if (type === 'none') {
    if (isGiven || vaultKey !== null) throw invalid('credentials and vault_key need an auth_type other than none')
    return
  }
  if (isGiven && vaultKey !== null) throw invalid('send credentials or vault_key, not both')
  if (vaultKey !== null) {
    if (type === 'oauth2') throw invalid('vault_key is not supported for auth_type oauth2; send credentials')
    return
  }
  if (!isGiven && (!isRequired || flow === 'authorization_code')) return
  const problem = type === 'oauth2' ? clientProblem(credentials, flow) : valueProblem(type, credentials)
  if (problem !== undefined) throw invalid(problem)
}

function clientProblem(
  { auth_value, client_id, client_secret }: Given['credentials'],
  flow: Given['flow'],
): string | undefined {
  if (auth_value !== undefined) return 'credentials.auth_value is not supported for auth_type oauth2'
  if (client_id === undefined) return 'credentials.client_id is required for auth_type oauth2'
  if (flow === 'authorization_code') return undefined
  return client_secret === undefined ? 'credentials.client_secret is required for auth_type oauth2' : undefined
}

function valueProblem(type: McpAuthType, { auth_value, ...others }: Given['credentials']): string | undefined {
  if (Object.keys(others).length > 0) return `credentials for auth_type ${type} must contain only auth_value`
  if (auth_value === undefined) return `credentials.auth_value or vault_key is required for auth_type ${type}`
  if (type === 'basic' || !isUnsendable(auth_value)) return undefined
  return 'credentials.auth_value contains a character that is not allowed in an HTTP header'
}

const maxStaticHeaders = 50

/** Returns the headers with lower-case names. Throws `invalid` for headers that must not be set. Security: S25. */
export function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  if (entries.length > maxStaticHeaders)
    throw invalid(`static_headers must not have more than ${maxStaticHeaders} headers`)
  for (const [name, value] of entries) {
    const problem = staticHeaderProblem(name, value)
    if (problem !== undefined) throw invalid(`static_headers.${name.slice(0, 100)} ${problem}`)
  }
  return Object.fromEntries(entries)
}
