import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, recordOf, textIn, textOf } from '../../../platform/json.ts'
import { type Block, fileBlock, imageBlock, mediaBlock, textBlocks } from '../shared/content-parts.ts'
import { withDetail } from '../shared/extras.ts'
import type { Note } from '../shared/settings.ts'

/** Context of the conversion of content parts. */
export interface PartReading {
  readonly note: Note
  /** True for upstreams that store files, which the client may reference by id. */
  readonly takesFileIds: boolean
  /** True for upstreams that read audio and video. */
  readonly takesMedia: boolean
}

/** Converts a content part. Blocks in Anthropic's format, which some clients send in this format, are passed on. */
export function partBlocks(part: Json, path: string, reading: PartReading): readonly Block[] {
  const { takesFileIds: takesIds, takesMedia } = reading
  switch (part['type']) {
    case 'text':
      return textBlocks(part['text'], part)
    case 'refusal':
      return textBlocks(part['refusal'])
    case 'image_url': {
      const image = part['image_url']
      const block = imageBlock(isRecord(image) ? image['url'] : image, part, { path: `${path}.image_url`, takesMedia })
      return [withDetail(block, recordOf(image)['detail'])]
    }
    case 'file':
      return [fileBlock(recordOf(part['file']), part, { path: `${path}.file`, takesIds, takesMedia })]
    case 'input_audio':
    case 'video_url':
      if (takesMedia) return [mediaOf(part, path)]
      break
    default: {
      const own = anthropicBlocks(part, path, reading.note)
      if (own) return own
    }
  }
  throw invalid(`${path}.type ${String(part['type'])} is not supported for this model`)
}

function mediaOf(part: Json, path: string): Block {
  const video = part['video_url']
  if (video !== undefined) return mediaBlock({ url: isRecord(video) ? video['url'] : video }, part, path)
  const { data, format } = recordOf(part['input_audio'])
  return mediaBlock({ data, type: `audio/${textOf(format) || 'wav'}` }, part, `${path}.input_audio`)
}

/** Returns a block in Anthropic's format in a list, empty for thinking without a signature; undefined for others. */
function anthropicBlocks(part: Json, path: string, note: Note): readonly Block[] | undefined {
  switch (part['type']) {
    case 'thinking':
    case 'redacted_thinking': {
      const block = signedThinking(part)
      if (!block) note(path)
      return block ? [block] : []
    }
    case 'image':
    case 'document':
      return isRecord(part['source']) ? [part as Block] : undefined
    case 'tool_use':
      return textIn(part['id']) && textIn(part['name']) ? [part as Block] : undefined
    case 'tool_result':
      return textIn(part['tool_use_id']) ? [part as Block] : undefined
    default:
      return undefined
  }
}

/** Returns thinking in Anthropic's format if a model can accept it; undefined without a signature. */
export function signedThinking({ type, thinking, signature, data }: Json): Block | undefined {
  if (type === 'redacted_thinking') return textIn(data) ? { type, data } : undefined
  return type === 'thinking' && textIn(signature) ? { type, thinking: textOf(thinking), signature } : undefined
}
