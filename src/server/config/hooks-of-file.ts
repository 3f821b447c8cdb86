import { closestTo } from '../platform/closest.ts'
import { isWebhookSecret } from '../platform/webhook-signature.ts'
import type { Hook } from './config.ts'
import { flag, type Shape, text, texts, whole } from './yaml-shape.ts'

/** One entry of `hooks`, as the file spells it. */
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
type Say = (text: string, field?: keyof HookEntry) => void

interface Options {
  readonly entries: readonly (Entry | undefined)[]
  readonly place: (path: readonly (string | number)[]) => { readonly line: number }
  readonly report: (text: string, place: { readonly line: number }) => void
}

const maxTimeoutMs = 30_000
const defaultTimeoutMs = 2_000
const phases = ['pre', 'post'] as const
const actions = ['allow', 'block'] as const

/** The file's `hooks`. */
export function hooksOfFile({ entries, place, report }: Options): Hook[] {
  const names = new Set<string>()
  return entries.flatMap((entry, index) => {
    if (!entry) return []
    const say: Say = (text, field) =>
      report(`hooks[${index}]${text}`, place(['hooks', index, ...(field === undefined ? [] : [field])]))
    const hook = checkedHook(entry, say)
    if (!hook) return []
    if (names.has(hook.name)) say(`.name ${hook.name} is there twice`, 'name')
    names.add(hook.name)
    return [hook]
  })
}

function checkedHook(entry: Entry, say: Say): Hook | undefined {
  for (const field of ['name', 'url', 'phase'] as const) if (!(field in entry)) say(`.${field} is required`)
  const phase = oneOf(entry, 'phase', { allowed: phases, say })
  const onError = oneOf(entry, 'on_error', { allowed: actions, say }) ?? 'block'
  checkValues(entry, say)
  const { name, url, timeout_ms: timeoutMs = defaultTimeoutMs, buffer_stream: bufferStream = false, secret } = entry
  if (bufferStream && phase === 'pre') say('.buffer_stream is for phase post', 'buffer_stream')
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

/** An entry of a wrong type has been reported by the reader of the file. */
const given = (list: readonly (string | undefined)[] = []): string[] => list.filter(entry => entry !== undefined)

function checkValues({ name, url, timeout_ms: timeoutMs = defaultTimeoutMs, secret }: Entry, say: Say): void {
  if (name !== undefined && !/^[\w-]{1,64}$/.test(name))
    say('.name may hold letters, digits, _ and -, at most 64', 'name')
  if (url !== undefined) checkUrl(url, say)
  if (timeoutMs > maxTimeoutMs) say(`.timeout_ms must be at most ${maxTimeoutMs}`, 'timeout_ms')
  if (secret !== undefined && !isWebhookSecret(secret))
    say(
      '.secret must be whsec_ and 24 to 64 bytes in base64; make one with echo "whsec_$(openssl rand -base64 32)"',
      'secret',
    )
}

interface Choice<T extends string> {
  readonly allowed: readonly T[]
  readonly say: Say
}

function oneOf<T extends string>(
  entry: Entry,
  field: 'phase' | 'on_error',
  { allowed, say }: Choice<T>,
): T | undefined {
  const word = entry[field]
  const found = allowed.find(value => value === word)
  if (word === undefined || found !== undefined) return found
  const near = closestTo(word, allowed)
  say(`.${field} must be ${allowed.join(' or ')}${near === undefined ? '' : `; did you mean ${near}?`}`, field)
  return undefined
}

function checkUrl(address: string, say: Say): void {
  const url = /[\\\s]/.test(address) ? null : URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) say('.url must be an https:// or http:// address', 'url')
  else if (url.username !== '' || url.password !== '') say('.url must not have a user name or a password', 'url')
  else if (url.hash !== '') say('.url must not have a fragment', 'url')
}
