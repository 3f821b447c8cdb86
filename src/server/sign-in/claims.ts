import type { OidcSettings, UserRoleName } from '../config/config.ts'
import { AppError } from '../platform/errors.ts'
import { type Json, listOf, nonEmptyText } from '../platform/json.ts'

/** What an identity provider says about a person. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  /** Only a verified address. */
  readonly email: string | null
  /** Owner of a new user; undefined: the id of the user. */
  readonly owner: string | undefined
  /** Undefined: groups change neither roles nor teams. */
  readonly groups: readonly string[] | undefined
  /** Undefined: the role is set through the API. Null: none of the groups may use the service. */
  readonly role: UserRoleName | null | undefined
}

type Settings = Pick<OidcSettings, 'issuer' | 'claims' | 'allowedDomains' | 'roles'>

/**
 * Returns the claims of the ID token, and those that only the user information has. An address and the flag that it is verified
 * come from the same source.
 */
export function mergedClaims(token: Json, info: Json, { email }: Pick<OidcSettings['claims'], 'email'>): Json {
  const source = [token, info].find(claims => claims[email] !== undefined && claims[verifiedClaim] !== undefined) ?? {}
  return { ...info, ...token, [email]: source[email], [verifiedClaim]: source[verifiedClaim] }
}

/** Roles from the strongest to the weakest. */
const roleNames: readonly UserRoleName[] = ['admin', 'member', 'viewer']
const verifiedClaim = 'email_verified'
const maxLength = 200
const maxGroups = 1_000

/** Returns the identity in the claims of a sign-in. Throws `forbidden` for an account that may not sign in. */
export function identityOf(claims: Json, settings: Settings): Identity {
  const { claims: names } = settings
  const subject = nonEmptyText(claims['sub'])
  if (subject === undefined) throw new AppError('forbidden', 'the identity provider did not name the account')
  const email = verifiedEmail(claims, names.email)
  requireDomain(email, settings)
  const groups = names.groups === undefined ? undefined : groupsIn(claims[names.groups])
  const owner = names.owner === undefined ? undefined : nonEmptyText(claims[names.owner])
  if (names.owner !== undefined && (owner === undefined || owner.trim() === '' || owner.length > maxLength))
    throw new AppError('forbidden', `the identity provider sent no usable claim ${names.owner}, which names the owner`)
  return {
    issuer: settings.issuer,
    subject,
    name: (nonEmptyText(claims[names.name])?.trim() || email || subject).slice(0, maxLength),
    email,
    owner,
    groups,
    role: settings.roles && roleOf(groups ?? [], settings.roles),
  }
}

/** An address that is not verified may be that of somebody else. */
function verifiedEmail(claims: Json, name: string): string | null {
  const email = nonEmptyText(claims[name])
  const isAddress = email !== undefined && email.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(email)
  // Some providers send the flag as a text.
  const isVerified = claims[verifiedClaim] === true || claims[verifiedClaim] === 'true'
  return isAddress && isVerified ? email : null
}

function requireDomain(email: string | null, { allowedDomains }: Settings): void {
  if (!allowedDomains) return
  const domain = email?.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (domain === undefined || !allowedDomains.includes(domain))
    throw new AppError(
      'forbidden',
      'this service only accepts accounts with a verified email address of its own domains; ask an administrator',
    )
}

/** Some providers send a single group as a text. */
const groupsIn = (claim: unknown): string[] =>
  (typeof claim === 'string' ? [claim] : listOf(claim))
    .filter(group => typeof group === 'string' && group.length <= maxLength)
    .slice(0, maxGroups) as string[]

const roleOf = (groups: readonly string[], roles: NonNullable<OidcSettings['roles']>): UserRoleName | null =>
  roleNames.find(name => roles[name].some(group => group === '*' || groups.includes(group))) ?? null
