import { withoutTrailing } from '../../platform/trailing.ts'

/** Address of a repository that is cloned over HTTP. */
export interface GitAddress {
  /** `https://github.com` */
  readonly origin: string
  /** Host with the port if the address has one, in lower case: `github.com`, `127.0.0.1:8080`. */
  readonly host: string
  /** `/acme/shop`, with `.git` where the address has it. */
  readonly path: string
}

const maxLength = 500
/** Segments of a path. Percent-encoding and dots are excluded: URL parsers, proxies and hosts read them differently. */
const pathPattern = /^(\/[\w.~+-]+)+$/

/** Returns the address, or why the service does not clone it, worded to follow the name of the field. */
export function gitAddressOf(text: unknown): GitAddress | string {
  if (typeof text !== 'string' || text.length > maxLength) return needsUrl
  const url = /[\\\s%]|\/\.+(\/|$)/.test(text) ? null : URL.parse(text)
  if (url === null) return /^[\w.-]+@[\w.-]+:/.test(text) ? needsHttp : needsUrl
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return needsHttp
  if (url.username !== '' || url.password !== '')
    return `must not contain a user name or password; store the credential in the vault as ${credentialNameOf(url.host)}`
  if (url.search !== '' || url.hash !== '') return 'must not contain a query or a fragment'
  const path = withoutTrailing(url.pathname, '/')
  if (!isRepositoryPath(path)) return needsUrl
  return { origin: url.origin, host: url.host, path }
}

const needsUrl = 'must be the URL of a repository, such as https://github.com/o/r'
const needsHttp =
  'must start with https:// (or http:// for a host in outbound.allow): repositories are not cloned over ssh, git or files'

/** True for a path of names without `.` and `..`. */
export const isRepositoryPath = (path: string): boolean =>
  pathPattern.test(path) && path.split('/').every(name => !/^\.+$/.test(name))

/** Returns the path without `.git`, by which paths of one repository are compared. */
export const withoutSuffix = (path: string): string => path.replace(/\.git$/, '')

/** Returns the name of the vault entry with the credential of a host, unless the configuration names another. */
export const credentialNameOf = (host: string): string => `git.${host.replace(/[^a-z0-9.-]/gi, '_')}`

/** Returns why git does not accept a name of a branch, tag or commit; undefined for a good one. */
export function refProblem(ref: unknown): string | undefined {
  const isName =
    typeof ref === 'string' &&
    ref.length <= 250 &&
    /^[\w][\w./+@#=-]*$/.test(ref) &&
    !/\.\.|\/\/|\/\.|@\{|\.$|\/$|\.lock(\/|$)/.test(ref)
  return isName ? undefined : 'must be the name of a branch, tag or commit'
}
