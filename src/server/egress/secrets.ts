import { type NetworkSecretType, networkSecretTypes } from '../../contract/network.ts'
import { isUnsendable } from '../config/providers.ts'
import { authorizationValue } from '../platform/authorization.ts'
import { isLongEnough } from '../platform/echoes.ts'
import { AppError } from '../platform/errors.ts'
import { type Json, recordsOf, textOf } from '../platform/json.ts'

/** A secret that the requests to one host get in a header. */
export interface BoundSecret {
  /** Name of the vault entry. */
  readonly vaultKey: string
  /** A name in lower case. */
  readonly host: string
  /** Lower case. */
  readonly header: string
  readonly type: NetworkSecretType
}

/** Returns `config.network.secrets`. */
export const boundSecrets = (network: Json): BoundSecret[] =>
  recordsOf(network['secrets']).map(({ vault_key, host, header, auth_type }) => ({
    vaultKey: textOf(vault_key),
    host: textOf(host).toLowerCase(),
    header: textOf(header).toLowerCase(),
    type: networkSecretTypes.find(type => type === auth_type) ?? 'authorization',
  }))

/** Returns the value of a vault entry; undefined if the session has no such entry. */
export type ReadSecret = (name: string) => Promise<string | undefined>

/** What requests to a host with secrets get, and what their responses must not contain. */
export interface SecretHeaders {
  /** Replace the headers of the request with the same names, which are in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly hidden: readonly string[]
}

/**
 * Returns the headers of secrets, by their current values. Errors: `unavailable` for a vault entry that does not exist
 * or is not a valid header.
 */
export async function secretHeaders(secrets: readonly BoundSecret[], readSecret: ReadSecret): Promise<SecretHeaders> {
  if (secrets.length === 0) return { headers: [], hidden: [] }
  const found = await Promise.all(
    secrets.map(async ({ vaultKey, header, type }) => {
      const value = (await readSecret(vaultKey))?.trim()
      if (!value) throw new AppError('unavailable', `vault entry ${vaultKey} of config.network.secrets does not exist`)
      if (type !== 'basic' && isUnsendable(value))
        throw new AppError(
          'unavailable',
          `vault entry ${vaultKey} contains a character that is not allowed in the header ${header}`,
        )
      return { header, value, sent: authorizationValue(type, value) }
    }),
  )
  return {
    // A compressed response could not be searched.
    headers: [...found.map(({ header, sent }) => [header, sent] as const), ['accept-encoding', 'identity']],
    hidden: [...new Set(found.flatMap(({ value, sent }) => [sent, sent.split(' ').at(-1) ?? '', value]))].filter(
      isLongEnough,
    ),
  }
}
