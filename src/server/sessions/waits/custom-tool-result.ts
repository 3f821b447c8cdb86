import { createHash } from 'node:crypto'
import {
  type CustomToolCall,
  maxCustomMediaBytes,
  maxCustomMediaTotal,
  maxCustomResultChars,
  type ResultMedia,
} from '../../../contract/custom-tools.ts'
import type { UserContent } from '../../../contract/event-routes.ts'
import type { TextBlock } from '../../../contract/events.ts'
import { invalid } from '../../platform/errors.ts'
import { mediaBlock, mediaIn } from '../../tools/media.ts'
import { isMediaBlock, type MediaBlock } from '../../tools/tool.ts'
import { CheckedContent, decodedBytes, decodedContent } from '../files/file-content.ts'
import { type SentFile, sentParts } from '../files/sent-file.ts'

/** Result of a custom tool, as a client sends it. */
export interface CustomToolAnswer {
  /** The id of the event of the call, or the runtime's id of the call. */
  readonly id: string
  readonly content?: readonly UserContent[] | undefined
  readonly is_error?: boolean | null | undefined
}

/** A result that was checked. */
export interface CheckedAnswer {
  readonly id: string
  /** As the model gets it. */
  readonly content: readonly (TextBlock | MediaBlock)[]
  /** As records of calls show it, without the content of files. */
  readonly shown: NonNullable<CustomToolCall['content']>
  readonly isError: boolean
}

/** Checks the content of a result; `place` is its path in the body. Throws `invalid_request`. */
export async function checkedAnswer(
  { id, content = [], is_error }: CustomToolAnswer,
  place: string,
): Promise<CheckedAnswer> {
  const parts = sentParts(content, place).map(part => {
    if (part.type !== 'reference') return part
    throw invalid(`${part.file.field} is not supported in results of tools; send the content, as base64`)
  })
  const files = parts.flatMap(part => (part.type === 'file' ? [part.file] : []))
  checkSizes(files)
  const blocks: (TextBlock | MediaBlock)[] = []
  for (const part of parts)
    blocks.push(part.type === 'text' ? { type: 'text', text: part.text } : await blockOf(part.file))
  if (blocks.reduce((sum, { text = '' }) => sum + text.length, 0) > maxCustomResultChars)
    throw invalid(`${place} must have at most ${maxCustomResultChars} characters; send a shorter result`)
  return { id, content: blocks, shown: blocks.map(shownBlock), isError: is_error === true }
}

/** Checks the limits before anything is decoded. */
function checkSizes(files: readonly SentFile[]): void {
  let total = 0
  for (const file of files) {
    const bytes = decodedBytes(file)
    if (bytes > maxCustomMediaBytes)
      throw invalid(`${file.field} exceeds ${maxCustomMediaBytes} bytes, the limit for a model; send a smaller file`)
    total += bytes
  }
  if (total > maxCustomMediaTotal)
    throw invalid(`files of a result must have at most ${maxCustomMediaTotal} bytes together`)
}

async function blockOf(file: SentFile): Promise<TextBlock | MediaBlock> {
  const checked = new CheckedContent(file, decodedContent(file))
  const chunks: Buffer[] = []
  for await (const chunk of checked.chunks()) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const media = mediaIn(bytes)
  if (media) return mediaBlock(media, bytes)
  if (checked.mediaType.startsWith('text/')) return { type: 'text', text: bytes.toString('utf8') }
  throw invalid(`${file.field} must be an image (PNG, JPEG, GIF, WebP), a PDF file or a text`)
}

function shownBlock(block: TextBlock | MediaBlock): TextBlock | ResultMedia {
  if (!isMediaBlock(block)) return { type: 'text', text: block.text }
  const bytes = Buffer.from(block.source.data, 'base64')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { type: block.type, media_type: block.source.media_type, size: bytes.length, sha256 }
}

/** Returns the content of a record as texts, for readers of another session's log. */
export const contentInWords = (content: NonNullable<CustomToolCall['content']>): TextBlock[] =>
  content.map(block =>
    block.type === 'text' ? block : { type: 'text', text: `[${block.media_type}, ${block.size} bytes]` },
  )
