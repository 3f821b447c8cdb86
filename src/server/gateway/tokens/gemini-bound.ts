import { countOf, isRecord, type Json, recordsOf, textIn } from '../../platform/json.ts'
import { field, objectField } from '../formats/gemini/fields.ts'
import type { InputBound } from './input-bound.ts'

/** How often a tool of the provider's may be used in one call. Our choice: the format has no limit for it. */
const usesEach = 10

/** Bounds the input of a request in Google's format, as `inputBoundOf` does for the others. Source: Gateway, section 4. */
export function geminiBoundOf(body: Buffer, request: Json): InputBound {
  const media = mediaIn(request)
  const providerTools = recordsOf(request['tools']).flatMap(tool =>
    Object.keys(tool).filter(name => name !== 'functionDeclarations' && name !== 'function_declarations'),
  )
  return {
    textBytes: body.length - media.dataBytes,
    images: media.images,
    providerCalls: providerTools.length * usesEach,
    tools: providerTools.length,
    fillsWindow: media.fillsWindow || textIn(field(request, 'cachedContent')) !== undefined,
    answers: Math.max(1, countOf(field(objectField(request, 'generationConfig'), 'candidateCount')) ?? 1),
  }
}

interface Media {
  readonly images: number
  readonly dataBytes: number
  readonly fillsWindow: boolean
}

/** What parts hold that no model reads as text. Results of functions have parts of their own, and no deeper ones. */
function mediaIn(request: Json): Media {
  const parts = recordsOf(request['contents']).flatMap(({ parts: list }) => (isRecord(list) ? [list] : recordsOf(list)))
  const inner = parts.flatMap(part => recordsOf(objectField(part, 'functionResponse')['parts']))
  const found = { images: 0, dataBytes: 0, fillsWindow: false }
  for (const part of [...parts, ...inner]) {
    const inline = field(part, 'inlineData')
    const type = isRecord(inline) ? textIn(field(inline, 'mimeType')) : undefined
    if (isRecord(field(part, 'fileData'))) found.fillsWindow = true
    if (!isRecord(inline) || type?.startsWith('text/')) continue
    found.dataBytes += base64Length(inline['data'])
    if (type?.startsWith('image/')) found.images++
    else found.fillsWindow = true
  }
  return found
}

/** Only what no model reads as text may be left out of the count. */
const base64Length = (data: unknown): number =>
  typeof data === 'string' && /^[A-Za-z0-9+/_=-]*$/.test(data) ? data.length : 0
