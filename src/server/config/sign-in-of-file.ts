import { isLoopbackHost } from '../http/web-page.ts'
import { closestTo } from '../platform/closest.ts'
import type { OidcSettings, UserRoleName } from './config.ts'
import type { ConfigFile, OidcBlock, Place } from './file.ts'

interface Reading {
  readonly file: ConfigFile
  /** False if authentication is off. */
  readonly hasMasterKey: boolean
  readonly report: (text: string, place?: Place) => void
}

const roleNames: readonly UserRoleName[] = ['admin', 'member', 'viewer']
const defaultScopes = ['openid', 'profile', 'email']
const maxSessionHours = 24 * 30

/** Returns the settings of the block `sign_in.oidc`; undefined without one, or when they are invalid. */
export function oidcOfFile({ file, hasMasterKey, report }: Reading): OidcSettings | undefined {
  const block = file.value.sign_in?.oidc
  if (!block) return undefined
  const reportAt = (text: string, ...field: string[]) =>
    report(`sign_in.oidc${text}`, file.place(['sign_in', 'oidc', ...field]))
  if (!hasMasterKey) reportAt(' requires general_settings.master_key: without it authentication is off')
  checkPublicUrl(file, reportAt)
  checkFields(block, reportAt)
  const { issuer, client_id: clientId, claims = {} } = block
  if (issuer === undefined || clientId === undefined) return undefined
  return {
    issuer,
    name: block.name ?? 'single sign-on',
    clientId,
    clientSecret: block.client_secret,
    clientSecretVaultKey: block.client_secret_vault_key,
    scopes: given(block.scopes) ?? defaultScopes,
    claims: {
      owner: claims.owner,
      email: claims.email ?? 'email',
      name: claims.name ?? 'name',
      groups: claims.groups,
    },
    allowedDomains: given(block.allowed_domains)?.map(domain => domain.toLowerCase()),
    roles: block.roles && {
      admin: given(block.roles.admin) ?? [],
      member: given(block.roles.member) ?? [],
      viewer: given(block.roles.viewer) ?? [],
    },
    defaultRole: roleNames.find(name => name === block.default_role) ?? 'member',
    sessionHours: block.session_hours ?? 12,
  }
}

type ReportAt = (text: string, ...field: string[]) => void

/** Entries of a wrong type were reported while the file was parsed. */
const given = (list: readonly (string | undefined)[] | undefined): string[] | undefined =>
  list?.filter(entry => entry !== undefined)

/** Browsers keep the cookies of a sign-in over https and on loopback only. */
function checkPublicUrl(file: ConfigFile, reportAt: ReportAt): void {
  const url = URL.parse(file.value.general_settings?.public_url ?? '')
  if (url && url.protocol !== 'https:' && !isLoopbackHost(url.host))
    reportAt(' requires general_settings.public_url to start with https://')
}

function checkFields(block: OidcBlock, reportAt: ReportAt): void {
  const { issuer, client_secret: secret, client_secret_vault_key: vaultKey, scopes, claims, roles } = block
  if (issuer === undefined) reportAt('.issuer is required')
  else if (!isAddress(issuer))
    reportAt('.issuer must be an https:// address without a query; http:// is for loopback only', 'issuer')
  if (block.client_id === undefined) reportAt('.client_id is required')
  if (secret !== undefined && vaultKey !== undefined)
    reportAt('.client_secret and client_secret_vault_key exclude each other; remove one', 'client_secret')
  if (scopes && !scopes.includes('openid')) reportAt('.scopes must contain openid', 'scopes')
  if (roles && claims?.groups === undefined) reportAt('.roles requires claims.groups', 'roles')
  if ((block.session_hours ?? 1) > maxSessionHours)
    reportAt(`.session_hours must be at most ${maxSessionHours}`, 'session_hours')
  checkDefaultRole(block.default_role, reportAt)
}

function checkDefaultRole(role: string | undefined, reportAt: ReportAt): void {
  if (role === undefined || roleNames.some(name => name === role)) return
  const near = closestTo(role, roleNames)
  reportAt(
    `.default_role must be one of ${roleNames.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    'default_role',
  )
}

function isAddress(text: string): boolean {
  const url = /[\\\s]/.test(text) ? null : URL.parse(text)
  if (url?.username !== '' || url.search !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.host))
}
