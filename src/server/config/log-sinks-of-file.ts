import { isAbsolute } from 'node:path'
import { closestTo } from '../platform/closest.ts'
import { durationMs } from '../platform/durations.ts'
import type { LogSinkSettings } from './export-settings.ts'
import { isUnsendable } from './providers.ts'
import { requestHeaders } from './request-headers.ts'
import { type Shape, text, whole } from './yaml-shape.ts'

/** An entry of `log_sinks` in the file. */
export interface LogSinkEntry {
  readonly name: string
  readonly type: string
  readonly bodies_until: string
  readonly path: string
  readonly max_bytes: number
  readonly max_age: string
  readonly keep: number
  readonly url: string
  readonly format: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bearer: string
  readonly bearer_vault_key: string
}

type Entry = Partial<LogSinkEntry>
type Field = keyof LogSinkEntry
type ReportAt = (text: string, field?: Field) => void

export const logSinkEntry: Shape = {
  kind: 'block',
  keys: {
    name: text,
    type: text,
    bodies_until: text,
    path: text,
    max_bytes: { kind: 'whole', min: 1_000 },
    max_age: text,
    keep: whole,
    url: text,
    format: text,
    headers: { kind: 'by name', of: text },
    bearer: text,
    bearer_vault_key: text,
  },
}

interface Options {
  /** Absent without the list. */
  readonly entries: readonly (Entry | undefined)[] | undefined
  readonly place: (path: readonly (string | number)[]) => { readonly line: number }
  readonly report: (text: string, place: { readonly line: number }) => void
  readonly warn: (text: string, place: { readonly line: number }) => void
}

const types = ['file', 'http', 'otlp'] as const
const formats = ['json', 'jsonl'] as const
const common: readonly Field[] = ['name', 'type', 'bodies_until']
const remote: readonly Field[] = ['url', 'headers', 'bearer', 'bearer_vault_key']
const fieldsOf: Readonly<Record<(typeof types)[number], readonly Field[]>> = {
  file: [...common, 'path', 'max_bytes', 'max_age', 'keep'],
  http: [...common, ...remote, 'format'],
  otlp: [...common, ...remote],
}

/** Bodies must not be exported forever by mistake. */
const maxBodiesMs = 90 * 24 * 60 * 60 * 1_000

/** Returns the checked `log_sinks` of the file. */
export function logSinksOfFile({ entries = [], place, report, warn }: Options): LogSinkSettings[] {
  const names = new Set<string>()
  const paths = new Set<string>()
  return entries.flatMap((entry, index): LogSinkSettings[] => {
    if (!entry) return []
    const at = (field?: Field) => place(['log_sinks', index, ...(field === undefined ? [] : [field])])
    const reportAt: ReportAt = (text, field) => report(`log_sinks[${index}]${text}`, at(field))
    const warnAt: ReportAt = (text, field) => warn(`log_sinks[${index}]${text}`, at(field))
    const sink = checkedSink(entry, reportAt, warnAt)
    if (!sink) return []
    if (names.has(sink.name)) reportAt(`.name ${sink.name} is a duplicate`, 'name')
    names.add(sink.name)
    if (sink.type !== 'file') return [sink]
    if (paths.has(sink.path)) reportAt(`.path ${sink.path} is used by an earlier sink`, 'path')
    paths.add(sink.path)
    return [sink]
  })
}

function checkedSink(entry: Entry, reportAt: ReportAt, warnAt: ReportAt): LogSinkSettings | undefined {
  const { name, type: word } = entry
  if (!('name' in entry)) reportAt('.name is required')
  else if (name !== undefined && !/^[\w-]{1,64}$/.test(name))
    reportAt('.name must have 1 to 64 letters, digits, _ or -', 'name')
  if (!('type' in entry)) reportAt(`.type is required: ${types.join(', ')}`)
  const type = types.find(known => known === word)
  if (word !== undefined && !type) reportAt(`.type must be ${types.join(', ')}${hint(word, types)}`, 'type')
  if (name === undefined || !type) return undefined
  for (const field of Object.keys(entry) as Field[])
    if (!fieldsOf[type].includes(field)) reportAt(`.${field} is not a setting of type ${type}`, field)
  const base = { name, bodiesUntilMs: checkedEnd(entry, reportAt, warnAt) }
  return type === 'file' ? fileSink(entry, base, reportAt) : remoteSink(entry, { ...base, type }, reportAt)
}

type Base = Pick<LogSinkSettings, 'name' | 'bodiesUntilMs'>

function fileSink(entry: Entry, base: Base, reportAt: ReportAt): LogSinkSettings | undefined {
  const { path, max_bytes: maxBytes = 100_000_000, max_age: age = '1d', keep = 30 } = entry
  if (!('path' in entry)) reportAt('.path is required')
  else if (path !== undefined && (!isAbsolute(path) || path.endsWith('/')))
    reportAt('.path must be the absolute path of a file, such as /var/log/switchyard/calls.jsonl', 'path')
  const maxAgeMs = durationMs(age)
  if (maxAgeMs === undefined || maxAgeMs < 60_000) reportAt('.max_age must be 1m or more, such as 12h or 1d', 'max_age')
  return path === undefined || maxAgeMs === undefined
    ? undefined
    : { ...base, type: 'file', path, maxBytes, maxAgeMs, keep }
}

function remoteSink(
  entry: Entry,
  { type, ...base }: Base & { readonly type: 'http' | 'otlp' },
  reportAt: ReportAt,
): LogSinkSettings | undefined {
  const { url, format: word = 'json', headers = {}, bearer, bearer_vault_key: bearerVaultKey } = entry
  if (!('url' in entry)) reportAt('.url is required')
  const problem = url === undefined ? undefined : urlProblem(url)
  if (problem !== undefined) reportAt(`.url ${problem}`, 'url')
  const format = formats.find(known => known === word)
  if (!format) reportAt(`.format must be ${formats.join(' or ')}${hint(word, formats)}`, 'format')
  if (bearer !== undefined && bearerVaultKey !== undefined)
    reportAt('.bearer and bearer_vault_key exclude each other; remove one', 'bearer')
  if (bearer !== undefined && isUnsendable(bearer)) reportAt('.bearer is not a valid header value', 'bearer')
  if (bearerVaultKey !== undefined && !/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/.test(bearerVaultKey))
    reportAt('.bearer_vault_key must be the name of a vault entry', 'bearer_vault_key')
  const checked = requestHeaders(headers, (name, problem) => reportAt(`.headers.${name} ${problem}`, 'headers'))
  if ('authorization' in checked && (bearer !== undefined || bearerVaultKey !== undefined))
    reportAt('.headers.authorization and bearer exclude each other; remove one', 'headers')
  if (url === undefined || problem !== undefined || !format) return undefined
  return { ...base, type, url, format, headers: checked, bearer, bearerVaultKey }
}

/** An end that has passed is only a warning: it must not stop a service that starts again later. */
function checkedEnd({ bodies_until: end }: Entry, reportAt: ReportAt, warnAt: ReportAt): number | undefined {
  if (end === undefined) return undefined
  const ms = Date.parse(end)
  if (Number.isNaN(ms))
    reportAt('.bodies_until must be a time, such as "2026-12-01T00:00:00Z" in quotes', 'bodies_until')
  else if (ms > Date.now() + maxBodiesMs) reportAt('.bodies_until is more than 90 days from now', 'bodies_until')
  else if (ms <= Date.now()) warnAt('.bodies_until has passed; no bodies are exported', 'bodies_until')
  return Number.isNaN(ms) ? undefined : ms
}

function urlProblem(address: string): string | undefined {
  const url = /[\\\s]/.test(address) ? null : URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be an https:// or http:// address'
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password; use headers'
  return url.hash === '' ? undefined : 'must not have a fragment'
}

function hint(word: string, known: readonly string[]): string {
  const near = closestTo(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}
