import type { FilePart } from '../../../../contract/prompt-files.ts'
import { maxMediaBytes } from '../../../tools/media.ts'
import type { ModelInputs } from '../../../tools/tool.ts'
import { fileNote } from '../../prompt-words.ts'
import type { Block, Message } from './blocks.ts'

/** Files of prompts in one request, in base64. Older ones are named only; providers limit a request to about 32 MB. */
const maxRequestLength = 20 * 1024 * 1024

/** Content of files in base64, by SHA-256. */
export type FileContents = ReadonlyMap<string, string>

export const noContents: FileContents = new Map()

/** A file of a prompt in the conversation. It is no block of the API: a request names it, or has its content. */
const isFile = (block: Block): block is Block & FilePart => block['type'] === 'file'

/** Type of the block in which a model that accepts such a file reads it; undefined for other files. */
function mediaTypeOfBlock({ media_type: type }: Pick<FilePart, 'media_type'>): 'image' | 'document' | undefined {
  if (type === 'application/pdf') return 'document'
  return type.startsWith('image/') && readableImages.has(type) ? 'image' : undefined
}

const readableImages: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Reads the files of the messages that the model accepts, the newest first, unless `known` has them. */
export async function contentsFor(
  messages: readonly Message[],
  inputs: ModelInputs,
  { known, read }: { readonly known: FileContents; readonly read: (file: FilePart) => Promise<Buffer> },
): Promise<FileContents> {
  const contents = new Map<string, string>()
  let length = 0
  const files = messages.flatMap(({ content }) => content.filter(isFile))
  for (const file of files.toReversed()) {
    const size = Math.ceil(file.size / 3) * 4
    if (!isAccepted(file, inputs) || contents.has(file.sha256) || length + size > maxRequestLength) continue
    length += size
    contents.set(file.sha256, known.get(file.sha256) ?? (await read(file)).toString('base64'))
  }
  return contents
}

function isAccepted(file: FilePart, { images, documents }: ModelInputs): boolean {
  const type = mediaTypeOfBlock(file)
  return file.size <= maxMediaBytes && ((type === 'image' && images) || (type === 'document' && documents))
}

/** Returns the messages with each file as a note that says where it is, followed by its content where that is known. */
export const withFiles = (messages: readonly Message[], contents: FileContents): readonly Message[] =>
  messages.map(message =>
    message.content.some(isFile)
      ? { ...message, content: message.content.flatMap(block => (isFile(block) ? blocksOf(block, contents) : [block])) }
      : message,
  )

function blocksOf(file: FilePart, contents: FileContents): Block[] {
  const note: Block = { type: 'text', text: fileNote(file) }
  const data = contents.get(file.sha256)
  const type = mediaTypeOfBlock(file)
  if (data === undefined || type === undefined) return [note]
  return [note, { type, source: { type: 'base64', media_type: file.media_type, data } }]
}
