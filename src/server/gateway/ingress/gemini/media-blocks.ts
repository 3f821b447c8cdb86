import { invalid } from '../../../platform/errors.ts'
import { type Json, textIn } from '../../../platform/json.ts'
import type { Block } from '../content-parts.ts'
import { field } from './either-spelling.ts'

/** An image, a PDF or a text that stands in the request itself. */
export function inlineBlock(inline: Json, path: string): Block {
  const { data } = inline
  const type = textIn(field(inline, 'mimeType'))
  if (typeof data !== 'string') throw invalid(`${path}.data must be a string of base64`)
  if (type === undefined) throw invalid(`${path}.mimeType must be a string`)
  const [media = ''] = type.toLowerCase().split(';')
  if (media.startsWith('text/') || media === 'application/json') {
    const text = Buffer.from(data, 'base64').toString()
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }
  }
  // Some clients write the alphabet for addresses, which other providers refuse.
  const source = { type: 'base64', media_type: media, data: data.replaceAll('-', '+').replaceAll('_', '/') }
  return { type: kindOf(media, `${path}.mimeType`), source }
}

/** Files that Google keeps for its clients: nobody else can read them. */
const googleFile = /^https?:\/\/(?:[\w.-]+\.)?googleapis\.com\//i

/** A file at a web address. */
export function fileBlock(file: Json, path: string): Block {
  const url = textIn(field(file, 'fileUri'))
  if (url === undefined) throw invalid(`${path}.fileUri must be a string`)
  if (!/^https?:\/\//i.test(url) || googleFile.test(url))
    throw invalid(`${path}.fileUri: stored files cannot be read here; send the data as inlineData`)
  const type = textIn(field(file, 'mimeType')) ?? 'application/pdf'
  return { type: kindOf(type.toLowerCase(), `${path}.mimeType`), source: { type: 'url', url } }
}

function kindOf(type: string, path: string): 'image' | 'document' {
  if (type.startsWith('image/')) return 'image'
  if (type === 'application/pdf') return 'document'
  throw invalid(`${path} ${type.slice(0, 100)} cannot be read by this model`)
}
