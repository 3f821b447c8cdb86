import type { McpAuthType } from '../../contract/mcp.ts'
import { reservedServerNames, serverNamePattern } from '../../contract/mcp.ts'
import type { ConfiguredMcpServer } from './agent-settings.ts'
import { type McpProgramEntry, programKeys, programOf } from './mcp-program-of-file.ts'
import { isUnsendable } from './providers.ts'
import { type ReportAt, type Shape, text, texts, wordOrTexts } from './yaml-shape.ts'

/** One entry of `mcp_servers`. */
export interface McpServerEntry extends McpProgramEntry {
  readonly server_name?: string
  readonly alias?: string
  readonly description?: string
  readonly url?: string
  readonly transport?: string
  readonly auth_type?: string
  readonly auth_value?: string
  readonly vault_key?: string
  readonly static_headers?: Readonly<Record<string, string | undefined>>
  readonly allowed_tools?: readonly (string | undefined)[]
  readonly disallowed_tools?: readonly (string | undefined)[]
  readonly require_approval?: string | readonly (string | undefined)[]
}

export const mcpServerEntry: Shape = {
  kind: 'block',
  keys: {
    server_name: text,
    alias: text,
    description: text,
    url: text,
    transport: text,
    auth_type: text,
    auth_value: text,
    vault_key: text,
    static_headers: { kind: 'by name', of: text },
    allowed_tools: texts,
    disallowed_tools: texts,
    require_approval: wordOrTexts,
    ...programKeys,
  },
  later: ['credentials'],
}

interface Options {
  readonly entries: readonly (McpServerEntry | undefined)[]
  /** `limits.allow_unrestricted_egress`. */
  readonly allowUnrestricted: boolean
  readonly place: (path: readonly (string | number)[]) => { readonly line: number }
  readonly report: (text: string, place: { readonly line: number }) => void
}

/** Credentials of `oauth2` are stored by the API, not in the file. */
const authTypes: readonly McpAuthType[] = ['none', 'api_key', 'bearer_token', 'basic', 'authorization']

/** Returns the checked `mcp_servers` of the file. */
export function mcpServersOfFile({ entries, allowUnrestricted, place, report }: Options): ConfiguredMcpServer[] {
  const taken = new Set<string>()
  return entries.flatMap((entry, index) => {
    if (!entry) return []
    const reportAt: ReportAt = (problem, ...path) =>
      report(`mcp_servers[${index}]${problem}`, place(['mcp_servers', index, ...path]))
    const serverName = checkedName(entry, 'server_name', { taken, reportAt })
    const alias = checkedName(entry, 'alias', { taken, reportAt })
    const stdio = programOf(entry, { allowUnrestricted, reportAt })
    const url = entry.transport === 'stdio' ? '' : checkedUrl(entry, reportAt)
    if (entry.transport !== undefined && entry.transport !== 'http' && entry.transport !== 'stdio')
      reportAt(`.transport ${entry.transport} is not supported; use http (streamable HTTP) or stdio`, 'transport')
    const authType = checkedAuth(entry, reportAt)
    if (serverName === undefined || url === undefined || authType === undefined) return []
    return [
      {
        serverName,
        alias: alias ?? null,
        description: entry.description ?? null,
        url,
        ...(stdio && { stdio }),
        authType,
        authValue: entry.auth_value,
        vaultKey: entry.vault_key ?? null,
        staticHeaders: checkedHeaders(entry, reportAt),
        allowedTools: namesOf(entry.allowed_tools),
        disallowedTools: namesOf(entry.disallowed_tools),
        requireApproval: checkedApproval(entry, reportAt),
      },
    ]
  })
}

interface Naming {
  readonly taken: Set<string>
  readonly reportAt: ReportAt
}

function checkedName(
  entry: McpServerEntry,
  field: 'server_name' | 'alias',
  { taken, reportAt }: Naming,
): string | undefined {
  const name = entry[field]
  if (name === undefined) {
    if (field === 'server_name' && !('server_name' in entry)) reportAt('.server_name is required')
    return undefined
  }
  if (!new RegExp(serverNamePattern).test(name)) reportAt(`.${field} must have 1 to 64 letters, digits, _ or -`, field)
  else if (reservedServerNames.includes(name.toLowerCase())) reportAt(`.${field} ${name} is reserved`, field)
  else if (taken.has(name)) reportAt(`.${field} ${name} is a duplicate`, field)
  taken.add(name)
  return name
}

function checkedUrl(entry: McpServerEntry, reportAt: ReportAt): string | undefined {
  const { url: given } = entry
  if (given === undefined) {
    if (!('url' in entry)) reportAt('.url is required')
    return undefined
  }
  const url = /[\\\s#]/.test(given) ? null : URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    reportAt('.url must be an https:// or http:// address without user name and fragment', 'url')
    return undefined
  }
  return url.href
}

function checkedAuth(entry: McpServerEntry, reportAt: ReportAt): McpAuthType | undefined {
  const { auth_type: given = 'none', auth_value: value, vault_key } = entry
  const type = authTypes.find(each => each === given)
  if (!type) {
    reportAt(`.auth_type must be one of ${authTypes.join(', ')}`, 'auth_type')
    return undefined
  }
  const hasValue = 'auth_value' in entry
  const count = Number(hasValue) + Number(vault_key !== undefined)
  if (type === 'none' && count > 0) reportAt('.auth_type is required with auth_value and vault_key')
  if (type !== 'none' && count !== 1) reportAt(`.auth_type ${type} needs either auth_value or vault_key`, 'auth_type')
  if (value !== undefined && (value.trim() === '' || (type !== 'basic' && isUnsendable(value))))
    reportAt('.auth_value is empty or contains a character that is not allowed in an HTTP header', 'auth_value')
  return type
}

function checkedHeaders({ static_headers = {} }: McpServerEntry, reportAt: ReportAt): Record<string, string> {
  const given = Object.entries(static_headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), value] as const],
  )
  for (const [name, value] of given) {
    const problem = staticHeaderProblem(name, value)
    if (problem !== undefined) reportAt(`.static_headers.${name} ${problem}`, 'static_headers', name)
  }
  return Object.fromEntries(given)
}

/** Headers that the service sets itself, and those that would change the route or the framing of a request. */
const ownHeader =
  /^(accept|accept-encoding|connection|content-encoding|content-length|content-type|expect|host|keep-alive|last-event-id|te|trailer|transfer-encoding|upgrade|mcp-.*|x-forwarded-.*|proxy-.*)$/

/** Returns why a header with this lower-case name cannot be set on all requests; undefined if it can. Security: S25. */
export function staticHeaderProblem(name: string, value: string): string | undefined {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) return 'is not a valid header name'
  if (ownHeader.test(name)) return 'is set by the service'
  if (isUnsendable(value)) return 'contains a character that is not allowed in an HTTP header'
  return undefined
}

function checkedApproval({ require_approval: given }: McpServerEntry, reportAt: ReportAt): 'always' | string[] | null {
  if (given === undefined || given === 'never' || given === 'always') return given === 'always' ? given : null
  if (typeof given !== 'string') return namesOf(given)
  reportAt('.require_approval must be always, never or a list of tools', 'require_approval')
  return null
}

const namesOf = (names: readonly (string | undefined)[] | undefined): string[] | null =>
  names?.filter(name => name !== undefined) ?? null
