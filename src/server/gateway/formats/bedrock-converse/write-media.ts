import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { blocksOf, type Conversion, type Placed } from './conversion.ts'

/** Converse formats by media type or file extension. */
const imageFormats: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/jpg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  png: 'png',
  jpg: 'jpeg',
  jpeg: 'jpeg',
  gif: 'gif',
  webp: 'webp',
}

const documentFormats: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/plain': 'txt',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  ...Object.fromEntries(['pdf', 'txt', 'html', 'md', 'csv', 'doc', 'docx', 'xls', 'xlsx'].map(name => [name, name])),
}

/** Converts an image block. Throws `invalid_request` for a source that Bedrock cannot read. */
export function imageBlock({ block, path }: Placed): Json {
  return {
    image: mediaOf(recordOf(block['source']), { formats: imageFormats, path: `${path}.source`, what: 'images' }),
  }
}

interface Kind {
  readonly formats: Readonly<Record<string, string>>
  readonly path: string
  readonly what: string
}

/** Converts a source. Converse reads only bytes and S3 objects. */
function mediaOf(source: Json, { formats, path, what }: Kind): Json {
  if (source['type'] === 'base64') {
    const format = formats[textOf(source['media_type']).toLowerCase()]
    if (format === undefined) throw invalid(`${path}.media_type is not supported by Amazon Bedrock`)
    if (typeof source['data'] !== 'string') throw invalid(`${path}.data must be a string`)
    return { format, source: { bytes: source['data'] } }
  }
  const url = textOf(source['url'])
  if (source['type'] !== 'url' || !url.startsWith('s3://'))
    throw invalid(`${path}: Amazon Bedrock accepts ${what} only as base64 or from an s3:// URL`)
  const format = formats[/\.(\w+)$/.exec(url)?.[1]?.toLowerCase() ?? '']
  if (format === undefined) throw invalid(`${path}.url must end with a file extension that Amazon Bedrock supports`)
  return { format, source: { s3Location: { uri: url } } }
}

/** Converts a document block. Images in it follow it as separate blocks. */
export function documentBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
  const { block, path } = placed
  const { model, note, documentName } = conversion
  const isClaude = model.family === 'claude'
  const { media, images } = sourceOf(placed, conversion)
  const context = textOf(block['context'])
  const citations = isRecord(block['citations']) && block['citations']['enabled'] === true
  if (context !== '' && !isClaude) note(`${path}.context`, 'dropped')
  // Citations in Converse answers have no equivalent in canonical events.
  if (citations) note(`${path}.citations`, 'dropped')
  const { format, source } = media
  const document = compact({
    format,
    name: documentName(textOf(block['title'])),
    source,
    context: context !== '' && isClaude ? context : undefined,
  })
  return [{ document }, ...images]
}

interface DocumentSource {
  readonly media: Json
  readonly images: readonly Json[]
}

function sourceOf({ block, path }: Placed, { note }: Conversion): DocumentSource {
  const source = recordOf(block['source'])
  const at = `${path}.source`
  if (source['type'] === 'text') return { media: asText(textOf(source['data'])), images: [] }
  if (source['type'] !== 'content') {
    return { media: mediaOf(source, { formats: documentFormats, path: at, what: 'documents' }), images: [] }
  }
  const parts = blocksOf(source['content'], `${at}.content`)
  const images = parts.filter(part => part.block['type'] === 'image')
  for (const image of images) note(image.path, 'image_moved')
  const texts = parts.map(part => textOf(part.block['text'])).filter(text => text !== '')
  return { media: asText(texts.join('\n')), images: images.map(imageBlock) }
}

const asText = (text: string): Json => ({
  format: 'txt',
  source: { bytes: Buffer.from(text === '' ? ' ' : text).toString('base64') },
})
