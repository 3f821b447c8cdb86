import { closestTo } from '../platform/closest.ts'
import { isWebhookSecret } from '../platform/webhook-signature.ts'
import type { Hook } from './config.ts'
import { flag, type Shape, text, texts, whole } from './yaml-shape.ts'

/** An entry of `hooks` in the file. */
export interface HookEntry {
  readonly name: string
  readonly url: string
  readonly phase: string
  readonly timeout_ms: number
  readonly on_error: string
  readonly models: readonly (string | undefined)[]
  readonly keys: readonly (string | undefined)[]
  readonly buffer_stream: boolean
  readonly secret: string
}

export const hookEntry: Shape = {
  kind: 'block',
  keys: {
    name: text,
    url: text,
    phase: text,
    timeout_ms: whole,
    on_error: text,
    models: texts,
    keys: texts,
    buffer_stream: flag,
    secret: text,
  },
}

type Entry = Partial<HookEntry>
type ReportAt = (text: string, field?: keyof HookEntry) => void

interface Options {
  readonly entries: readonly (Entry | undefined)[]
  readonly place: (path: readonly (string | number)[]) => { readonly line: number }
  readonly report: (text: string, place: { readonly line: number }) => void
}

const maxTimeoutMs = 30_000
const defaultTimeoutMs = 2_000
const phases = ['pre', 'post'] as const
const actions = ['allow', 'block'] as const

/** Returns the checked `hooks` of the file. */
export function hooksOfFile({ entries, place, report }: Options): Hook[] {
  const names = new Set<string>()
  return entries.flatMap((entry, index) => {
    if (!entry) return []
    const reportAt: ReportAt = (text, field) =>
      report(`hooks[${index}]${text}`, place(['hooks', index, ...(field === undefined ? [] : [field])]))
    const hook = checkedHook(entry, reportAt)
    if (!hook) return []
    if (names.has(hook.name)) reportAt(`.name ${hook.name} is a duplicate`, 'name')
    names.add(hook.name)
    return [hook]
  })
}

function checkedHook(entry: Entry, reportAt: ReportAt): Hook | undefined {
  for (const field of ['name', 'url', 'phase'] as const) if (!(field in entry)) reportAt(`.${field} is required`)
  const phase = oneOf(entry, 'phase', { allowed: phases, reportAt })
  const onError = oneOf(entry, 'on_error', { allowed: actions, reportAt }) ?? 'block'
  checkValues(entry, reportAt)
  const { name, url, timeout_ms: timeoutMs = defaultTimeoutMs, buffer_stream: bufferStream = false, secret } = entry
  if (bufferStream && phase === 'pre') reportAt('.buffer_stream requires phase post', 'buffer_stream')
  if (name === undefined || url === undefined || !phase) return undefined
  return {
    name,
    url,
    phase,
    timeoutMs,
    onError,
    models: given(entry.models),
    keys: given(entry.keys),
    bufferStream,
    secret,
  }
}

/** Entries of a wrong type were reported while the file was parsed. */
const given = (list: readonly (string | undefined)[] = []): string[] => list.filter(entry => entry !== undefined)

function checkValues({ name, url, timeout_ms: timeoutMs = defaultTimeoutMs, secret }: Entry, reportAt: ReportAt): void {
  if (name !== undefined && !/^[\w-]{1,64}$/.test(name))
    reportAt('.name must have 1 to 64 letters, digits, _ or -', 'name')
  if (url !== undefined) checkUrl(url, reportAt)
  if (timeoutMs > maxTimeoutMs) reportAt(`.timeout_ms must be at most ${maxTimeoutMs}`, 'timeout_ms')
  if (secret !== undefined && !isWebhookSecret(secret))
    reportAt(
      '.secret must be whsec_ followed by 24 to 64 bytes in base64; create one with echo "whsec_$(openssl rand -base64 32)"',
      'secret',
    )
}

interface Choice<T extends string> {
  readonly allowed: readonly T[]
  readonly reportAt: ReportAt
}

function oneOf<T extends string>(
  entry: Entry,
  field: 'phase' | 'on_error',
  { allowed, reportAt }: Choice<T>,
): T | undefined {
  const word = entry[field]
  const found = allowed.find(value => value === word)
  if (word === undefined || found !== undefined) return found
  const near = closestTo(word, allowed)
  reportAt(`.${field} must be ${allowed.join(' or ')}${near === undefined ? '' : `; did you mean ${near}?`}`, field)
  return undefined
}

function checkUrl(address: string, reportAt: ReportAt): void {
  const url = /[\\\s]/.test(address) ? null : URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) reportAt('.url must be an https:// or http:// address', 'url')
  else if (url.username !== '' || url.password !== '') reportAt('.url must not have a user name or a password', 'url')
  else if (url.hash !== '') reportAt('.url must not have a fragment', 'url')
}
