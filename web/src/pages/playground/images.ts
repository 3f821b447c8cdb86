import { recordOf } from '../../data/json.ts'
import { bytes } from '../../parts/format.ts'
import { base64Of } from '../../parts/read-file.ts'
import { type Block, textOf } from './wire/form.ts'

/** Types that all providers with images read. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

const maxBytes = 5 * 1024 * 1024

/** Reads an image as a block. Throws for a file that models do not read. */
export async function imageBlockOf(file: File): Promise<Block> {
  const mediaType = imageTypes.find(type => type === file.type)
  if (!mediaType) throw new Error(`${file.name} is not a PNG, JPEG, GIF or WebP image`)
  if (file.size > maxBytes)
    throw new Error(`${file.name} has ${bytes(file.size)}; an image has at most ${bytes(maxBytes)}`)
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: await base64Of(file) } }
}

/** Names an image by its type and size; the page shows no image of a conversation. */
export function imageText(block: Block): string {
  const { type, url, media_type: mediaType, data } = recordOf(block['source'])
  if (type === 'url') return `Image at ${textOf(url)}`
  return `Image, ${textOf(mediaType).replace('image/', '').toUpperCase()}, ${bytes((textOf(data).length * 3) / 4)}`
}
