import { closestTo } from '../platform/closest.ts'
import { withoutTrailing } from '../platform/trailing.ts'
import type { GitHost, GitHostType } from './agent-settings.ts'
import type { ConfigFile, GitHostEntry, Place } from './file.ts'

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

/** The path of each API below the address of its host. */
const apiPaths: Readonly<Record<GitHostType, string>> = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1' }
const types = Object.keys(apiPaths) as GitHostType[]

/** Returns the hosts of the list `git_hosts`, without invalid entries. */
export function gitHostsOfFile({ file, report }: Reading): GitHost[] {
  const entries = file.value.git_hosts ?? []
  return entries.flatMap((entry = {}, at) => {
    const reportAt = (text: string, ...field: string[]) =>
      report(`git_hosts[${at}].${text}`, file.place(['git_hosts', at, ...field]))
    const found = hostOf(entry, reportAt)
    const isSecond = entries.findIndex(other => other?.host === entry.host) < at
    if (isSecond) reportAt(`host ${entry.host} is used by an earlier entry`, 'host')
    return found && !isSecond ? [found] : []
  })
}

type ReportAt = (text: string, ...field: string[]) => void

function hostOf(entry: GitHostEntry, reportAt: ReportAt): GitHost | undefined {
  const { host = '', credential, auth } = entry
  const type = types.find(name => name === entry.type)
  const apiBase = entry.api_base ?? (type && `https://${host}${apiPaths[type]}`)
  const checks: readonly (readonly [field: string, isGood: boolean, problem: string])[] = [
    ['host', isHost(host), 'must be a host in lower case, such as git.example.com or git.example.com:8443'],
    ['type', type !== undefined, `must be one of ${types.join(', ')}${hintFor(entry.type)}`],
    [
      'api_base',
      !entry.api_base || isAddress(entry.api_base),
      'must be an https:// or http:// address without a query',
    ],
    ['credential', credential === undefined || isVaultName(credential), 'must be the name of a vault entry'],
    ['auth', auth === undefined || isAuth(auth), 'must be basic or bearer'],
  ]
  const wrong = checks.filter(([, isGood]) => !isGood)
  for (const [field, , problem] of wrong) reportAt(`${field} ${problem}`, field)
  if (wrong.length > 0 || type === undefined || apiBase === undefined) return undefined
  return { host, type, apiBase: withoutTrailing(apiBase, '/'), credential, auth: isAuth(auth) ? auth : undefined }
}

const isHost = (text: string): boolean => /^([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/.test(text)
const isVaultName = (text: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/.test(text)
const isAuth = (text: string | undefined): text is 'basic' | 'bearer' => text === 'basic' || text === 'bearer'

function hintFor(type: string | undefined): string {
  const near = closestTo(type ?? '', types)
  return near === undefined ? '' : `; did you mean ${near}?`
}

function isAddress(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === ''
}
