import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { A2aMessage, A2aPart, A2aSendRequest } from '../../contract/a2a-objects.ts'
import type { UserContent } from '../../contract/event-routes.ts'
import type { PromptPart } from '../../contract/prompts.ts'
import { invalid } from '../platform/errors.ts'
import { mediaTypeIn } from '../platform/media-type.ts'
import { a2aFailure } from './errors.ts'

/** Rejects parts of a request that this service cannot use. */
export function checkRequest({ message, configuration = {} }: A2aSendRequest, outputModes: readonly string[]): void {
  if (message.role !== 'ROLE_USER') throw invalid('message.role must be ROLE_USER')
  const { acceptedOutputModes: accepted = [] } = configuration
  if (accepted.length > 0 && !accepted.some(mode => outputModes.some(own => covers(mode, own)))) {
    throw a2aFailure(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `configuration.acceptedOutputModes must include one of ${outputModes.join(', ')}`,
    )
  }
}

/** True when a media type, which may end in `/*`, includes another. */
function covers(mode: string, own: string): boolean {
  const wanted = mediaTypeIn(mode)
  return wanted === own || wanted === '*/*' || (wanted.endsWith('/*') && own.startsWith(wanted.slice(0, -1)))
}

/** Returns the parts of a message as those of a prompt: texts, files, and data as text. Throws `invalid_request`. */
export const promptPartsOf = ({ parts }: A2aMessage): UserContent[] => parts.map(promptPartOf)

function promptPartOf(part: A2aPart, at: number): UserContent {
  const { text, raw, url, data, filename, mediaType } = part
  const place = `message.parts[${at}]`
  const kinds = [text, raw, url, data].filter(content => content !== undefined)
  if (kinds.length !== 1) throw invalid(`${place} must have exactly one of text, raw, url and data`)
  const named = { ...(filename && { name: filename }), ...(mediaType && { media_type: mediaType }) }
  if (raw !== undefined) return { type: 'file', data: raw, ...named }
  if (url !== undefined) {
    if (/^data:/i.test(url)) return { type: 'file', url, ...named }
    throw a2aFailure(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `${place}.url is not supported: this service loads no files from other addresses; send the content in raw, as base64`,
    )
  }
  if (text !== undefined && mediaType && !isTextType(mediaType)) {
    const problem = `${place}.mediaType of a text must be text/*, JSON, XML or YAML`
    throw a2aFailure('CONTENT_TYPE_NOT_SUPPORTED', `${problem}; send other files in raw, as base64`)
  }
  const content = text ?? JSON.stringify(data)
  if (content.trim() === '') throw invalid(`${place}.text must not be blank`)
  if (content.length > maxTextChars) throw invalid(`${place}.data must have at most ${maxTextChars} characters as JSON`)
  return { type: 'text', text: content }
}

const isTextType = (mediaType: string): boolean => /^(text\/|application\/(.*\+)?(json|xml|yaml))/i.test(mediaType)

const maxTextChars = 1_000_000

/** Returns a message with the SHA-256 of each file in place of its content, in hexadecimal digits. */
export async function digestedMessage(message: A2aMessage): Promise<A2aMessage> {
  const parts: A2aPart[] = []
  for (const part of message.parts) {
    const { raw, url, ...others } = part
    const base64 = raw ?? (url?.startsWith('data:') ? url.slice(url.indexOf(',') + 1) : undefined)
    parts.push(base64 === undefined ? part : { ...others, raw: await sha256Of(base64) })
  }
  return { ...message, parts }
}

/** True if the parts of a stored prompt are those of a digested message. */
export const isSameContent = (stored: readonly PromptPart[], { parts }: A2aMessage): boolean =>
  stored.length === parts.length &&
  stored.every((part, at) => {
    const { raw, text, data } = parts[at] ?? {}
    return part.type === 'file' ? part.sha256 === raw : part.text === (text ?? JSON.stringify(data))
  })

/** Characters that are hashed between two turns of the event loop; a multiple of four. */
const sliceLength = 1024 * 1024

/** Returns the hash of a content in base64. */
async function sha256Of(base64: string): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < base64.length; at += sliceLength) {
    hash.update(base64.slice(at, at + sliceLength), 'base64')
    await setImmediate()
  }
  return hash.digest('hex')
}
