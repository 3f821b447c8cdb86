import { createHash } from 'node:crypto'
import type { CodecContext } from '../../translated/codec.ts'
import type { BedrockModel } from '../../upstream/bedrock-models.ts'

const maxNameLength = 64
const hashLength = 8

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The name that a tool has at Bedrock, which takes 64 letters, digits, `_` and `-`. The same in every turn. */
export const sentToolName = (name: string): string => cleanName(name)

/** Names of a request's tools that had to change, by the name that was sent; the answer to the same call reads them. */
const changedNames = new WeakMap<CodecContext, ReadonlyMap<string, string>>()

/** Keeps in mind which tools go out under another name. */
export function rememberToolNames(context: CodecContext, names: readonly string[]): void {
  const changed = names.filter(name => sentToolName(name) !== name)
  if (changed.length > 0) changedNames.set(context, new Map(changed.map(name => [sentToolName(name), name])))
}

/** The name under which the client knows a tool. */
export const toolNameOf = (context: CodecContext, sent: string): string => changedNames.get(context)?.get(sent) ?? sent

/** The id that a tool call has at Bedrock. The same for a call and its result. */
export function sentToolUseId(id: string, { family }: BedrockModel): string {
  // Mistral wants exactly nine letters and digits.
  if (family === 'mistral') return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashOf(id).slice(0, 9)
  return cleanName(id)
}

/** A name or an id that both sides take: the text itself where it can be, else a likeness of it with a hash. */
export function cleanName(text: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(text)) return text
  const kept = text.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxNameLength - hashLength - 1)
  return `${kept}_${hashOf(text).slice(0, hashLength)}`
}
