import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json } from '../../../platform/json.ts'
import type { CodecContext, ReasoningSeal } from '../../translated/codec.ts'
import type { Degradation } from '../../translated/degradations.ts'
import { type BedrockModel, bedrockModel } from '../../upstream/bedrock-models.ts'
import { createDocumentNames } from './document-names.ts'

/** What the conversion of one request shares among its parts. */
export interface Conversion {
  readonly model: BedrockModel
  readonly reasoning: ReasoningSeal
  /** Lists something that could not go out as it was. */
  readonly note: (path: Degradation['path'], action: Degradation['action']) => void
  /** All that was listed so far. */
  readonly degraded: readonly Degradation[]
  /** A name for the next document, by its title. */
  readonly documentName: (title: string) => string
}

/** A content block and where it stands in the request. */
export interface Placed {
  readonly block: Json
  readonly path: string
}

export function startConversion({ upstreamModel, reasoning }: CodecContext): Conversion {
  const degraded: Degradation[] = []
  return {
    model: bedrockModel(upstreamModel),
    reasoning,
    note: (path, action) => {
      degraded.push({ path, action })
    },
    degraded,
    documentName: createDocumentNames(),
  }
}

/** The blocks of a content, which may be plain text. Throws `invalid_request` for what is neither. */
export function blocksOf(content: unknown, path: string): readonly Placed[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }]
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array`)
  return content.map((block: unknown, index) => {
    if (!isRecord(block)) throw invalid(`${path}.${index} must be an object`)
    return { block, path: `${path}.${index}` }
  })
}
