import type { GitHost } from '../../config/agent-settings.ts'
import { basicAuthorization } from '../../platform/authorization.ts'
import { AppError } from '../../platform/errors.ts'
import type { Vault } from '../../vault/vault.ts'
import { credentialNameOf, type GitAddress } from './git-address.ts'

/** Credential of a host, and its forms in requests. */
export interface GitCredential {
  /** Name of the vault entry. */
  readonly name: string
  /** Undefined: the vault has no such entry, and requests carry no credential. */
  readonly secret: GitSecret | undefined
}

export interface GitSecret {
  /** Value of the vault entry. */
  readonly value: string
  /** Header `authorization` of git's requests. */
  readonly authorization: string
  /** Token for the API of the host. */
  readonly token: string
}

/** User names that the hosts expect beside a token. */
const tokenUsers: Readonly<Record<string, string>> = { github: 'x-access-token', gitlab: 'oauth2' }

/** Types of hosts that need no configuration. */
const knownHosts: Readonly<Record<string, GitHost>> = {
  'github.com': { host: 'github.com', type: 'github', apiBase: 'https://api.github.com' },
  'gitlab.com': { host: 'gitlab.com', type: 'gitlab', apiBase: 'https://gitlab.com/api/v4' },
  'codeberg.org': { host: 'codeberg.org', type: 'gitea', apiBase: 'https://codeberg.org/api/v1' },
}

/** Returns the settings of a host; undefined for one that is neither configured nor well known. */
export const gitHostOf = (configured: readonly GitHost[], host: string): GitHost | undefined =>
  configured.find(entry => entry.host === host) ?? knownHosts[host]

interface Owner {
  readonly ownerId: string
  readonly address: GitAddress
}

/** Returns a function that reads the credential of a host for sessions of an owner. Security: S59. */
export function createGitCredentials(vault: Pick<Vault, 'value'>, hosts: () => readonly GitHost[]) {
  return async ({ ownerId, address: { host } }: Owner): Promise<GitCredential> => {
    const settings = gitHostOf(hosts(), host)
    const name = settings?.credential ?? credentialNameOf(host)
    const value = (await vault.value({ name, ownerId: ownerId === '' ? undefined : ownerId }))?.trim()
    if (value === undefined || value === '') return { name, secret: undefined }
    if (!/^[\x21-\x7e]+$/.test(value)) {
      const message = `vault entry ${name} must be a token, or a user name and a password with : in between`
      throw new AppError('invalid_request', message)
    }
    return { name, secret: secretOf(value, settings) }
  }
}

function secretOf(value: string, settings: GitHost | undefined): GitSecret {
  const hasUser = value.includes(':')
  const pair = hasUser ? value : `${tokenUsers[settings?.type ?? ''] ?? 'git'}:${value}`
  return {
    value,
    authorization: settings?.auth === 'bearer' ? `Bearer ${value}` : basicAuthorization(pair),
    token: hasUser ? value.slice(value.indexOf(':') + 1) : value,
  }
}
