import type { FilePart } from '../../../contract/prompt-files.ts'
import { type Json, nonEmptyText, textIn } from '../../platform/json.ts'
import { paragraphs } from '../prompt-words.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'

/** Text of parts, and whether the next text continues it, as in a stream of pieces. */
export interface PartsText {
  readonly text: string
  readonly isOpen: boolean
}

/**
 * Returns parts of an agent as text: texts as they are, data as JSON, and of files their name, type, and size or address. Everything
 * but text is on lines of its own. `after` is what precedes the parts, so that parts that arrive in pieces give the same text.
 */
export function textAfter(
  after: { readonly isEmpty: boolean; readonly isOpen: boolean },
  parts: readonly Json[],
): PartsText {
  let text = ''
  let isOpen = after.isOpen
  for (const part of parts) {
    const words = textIn(part['text'])
    const isFirst = after.isEmpty && text === ''
    text += `${isFirst || (isOpen && words !== undefined) ? '' : '\n'}${words ?? blockOf(part)}`
    isOpen = words !== undefined
  }
  return { text, isOpen }
}

/** Returns the parts of a whole message as text. */
export const textOfParts = (parts: readonly Json[]): string => textAfter({ isEmpty: true, isOpen: true }, parts).text

function blockOf({ data, raw, url, filename, mediaType }: Json): string {
  if (data !== undefined) return JSON.stringify(data)
  const name = nonEmptyText(filename) ?? 'without a name'
  const type = nonEmptyText(mediaType) ?? 'application/octet-stream'
  if (typeof raw === 'string') return `[file ${name} (${type}, ${Buffer.byteLength(raw, 'base64')} bytes), not stored]`
  if (typeof url === 'string') return `[file ${name} (${type}): ${url}]`
  return '[part without content]'
}

interface Sent {
  readonly session: Pick<RunSession, 'system'>
  readonly prompt: Pick<RunPrompt, 'parts' | 'system'>
  /** Text block with the memories of the session's agent; empty without any. */
  readonly memories: string
  /** True when the agent does not know the conversation. */
  readonly isFirst: boolean
  readonly fileContent: RunContext['fileContent']
}

/** Returns the parts of a prompt's message: its text, then its files. A2A has no system prompt: it precedes the first text. */
export async function partsOfPrompt({ session, prompt, memories, isFirst, fileContent }: Sent): Promise<Json[]> {
  const texts = prompt.parts.flatMap(part => (part.type === 'file' ? [] : [part.text]))
  const system = prompt.system ?? (isFirst ? session.system : '')
  const text = paragraphs(system, isFirst ? memories : '', texts.join('\n\n'))
  const files: Json[] = []
  // One after another: all files of a prompt together are as large as a request may be.
  for (const part of prompt.parts) if (part.type === 'file') files.push(await filePart(part, fileContent))
  return [...(text === '' ? [] : [{ text }]), ...files]
}

async function filePart(file: FilePart, fileContent: RunContext['fileContent']): Promise<Json> {
  const content = await fileContent(file)
  return { raw: content.toString('base64'), filename: file.name, mediaType: file.media_type }
}
