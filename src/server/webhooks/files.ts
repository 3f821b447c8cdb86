import { maxPromptFiles } from '../../contract/prompt-files.ts'
import type { WebhookConfig } from '../../contract/webhooks.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord } from '../platform/json.ts'
import type { SentPart } from '../sessions/sessions.ts'
import type { Payload } from './payload.ts'
import { valueAt } from './template.ts'

type Settings = Pick<WebhookConfig, 'files'>
type SentFile = Extract<SentPart, { readonly type: 'file' }>['file']

/** Returns the files in a payload, as `config.webhook.files` names them. Throws `invalid_request` for other values. */
export function filesIn({ files }: Settings, payload: unknown): SentFile[] {
  if (!files) return []
  const { each } = files
  if (each === undefined) return fileOf(files, payload, 'payload')
  const items = valueAt(payload, each)
  if (items === undefined || items === null) return []
  if (!Array.isArray(items)) throw invalid(`payload.${each} is not a list (config.webhook.files.each)`)
  if (items.length > maxPromptFiles) throw invalid(`payload.${each} has more than ${maxPromptFiles} files`)
  return items.flatMap((item, at) => fileOf(files, item, `payload.${each}[${at}]`))
}

/** Returns the file of an item; none for an item without content. */
function fileOf(files: NonNullable<Settings['files']>, item: unknown, place: string): SentFile[] {
  const content = valueAt(item, files.data)
  if (content === undefined || content === null) return []
  const field = `${place}.${files.data}`
  if (typeof content !== 'string') throw invalid(`${field} is not a string`)
  const name = textAt(item, files.name)
  const mediaType = textAt(item, files.media_type)
  return [{ field, name, mediaType, encoding: 'base64', content }]
}

function textAt(item: unknown, path: string | undefined): string | undefined {
  const value = path === undefined ? undefined : valueAt(item, path)
  return typeof value === 'string' ? value : undefined
}

/** Returns the payload without the content of its files, which the message has besides the text. */
export function withoutFiles(payload: Payload, files: readonly SentFile[]): Payload {
  if (files.length === 0) return payload
  const contents = new Set(files.map(({ content }) => content))
  return { ...payload, value: replaced(payload.value, contents) }
}

function replaced(value: unknown, contents: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return contents.has(value) ? '[attached file]' : value
  if (Array.isArray(value)) return value.map(item => replaced(item, contents))
  if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, replaced(part, contents)]))
}
