import type { MediaBlock, ModelInputs } from './tool.ts'

/** Maximum size of an image or a document for a model: 5 MB in base64, the limit of most providers. */
export const maxMediaBytes = 3_750_000

export interface Media {
  readonly type: MediaBlock['type']
  readonly mediaType: string
  /** For images whose header states them. */
  readonly width?: number
  readonly height?: number
}

/** Types whose content must be what they say, because models read it. */
export const recognizedTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
])

/** Returns what an image or a PDF file is, from its first bytes; undefined for other files. */
export function mediaIn(bytes: Buffer): Media | undefined {
  const starts = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text
  if (starts('%PDF-')) return { type: 'document', mediaType: 'application/pdf' }
  if (starts('\x89PNG\r\n\x1a\n')) {
    return {
      type: 'image',
      mediaType: 'image/png',
      ...sizeAt(bytes, 24, () => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]),
    }
  }
  if (starts('GIF87a') || starts('GIF89a')) {
    return {
      type: 'image',
      mediaType: 'image/gif',
      ...sizeAt(bytes, 10, () => [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]),
    }
  }
  if (starts('\xff\xd8\xff')) return { type: 'image', mediaType: 'image/jpeg' }
  return starts('RIFF') && starts('WEBP', 8) ? { type: 'image', mediaType: 'image/webp' } : undefined
}

function sizeAt(bytes: Buffer, needed: number, read: () => [width: number, height: number]) {
  if (bytes.length < needed) return {}
  const [width, height] = read()
  return { width, height }
}

/** Describes a file: its type, its size in pixels if known, and in bytes. */
export function describeMedia({ mediaType, width, height }: Media, bytes: Buffer): string {
  return [mediaType, ...(width && height ? [`${width}x${height} pixels`] : []), `${bytes.length} bytes`].join(', ')
}

/** Returns why the model does not get the file; undefined if it does. */
export function mediaProblem(media: Media, bytes: Buffer, model: ModelInputs & { readonly name: string }) {
  if (media.type === 'image' && !model.images) {
    return `model ${model.name} is not known to read images; use bash to examine it`
  }
  if (media.type === 'document' && !model.documents) {
    return `model ${model.name} is not known to read PDF files; extract its text with bash, such as pdftotext`
  }
  if (bytes.length <= maxMediaBytes) return undefined
  const advice = media.type === 'image' ? 'make it smaller' : 'take out some pages'
  return `exceeds ${maxMediaBytes} bytes, the limit for a model; ${advice} with bash`
}

export const mediaBlock = ({ type, mediaType }: Media, bytes: Buffer): MediaBlock => ({
  type,
  source: { type: 'base64', media_type: mediaType, data: bytes.toString('base64') },
})
