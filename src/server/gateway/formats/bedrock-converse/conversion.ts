import { createHash } from 'node:crypto'
import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json } from '../../../platform/json.ts'
import { createUniqueNames } from '../../../platform/unique-names.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext, ReasoningSigner } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'
import { type BedrockModel, bedrockModel } from '../../upstream/bedrock.ts'
import { nineCharacterId } from '../shared/tools.ts'

const maxLength = 200

/**
 * Creates a function that returns unique document names for one request. Converse accepts letters, digits, single
 * spaces, hyphens and brackets. Equal requests give equal names.
 */
function createDocumentNames(): (title: string) => string {
  const unique = createUniqueNames(numbered)
  return title => unique(allowed(title))
}

function allowed(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .replaceAll(/[^a-zA-Z0-9()[\] -]+/g, ' ')
    .replaceAll(/ +/g, ' ')
    .slice(0, maxLength)
    .trim()
  return plain === '' ? 'document' : plain
}

function numbered(base: string, number: number): string {
  const suffix = ` (${number})`
  return `${base.slice(0, maxLength - suffix.length).trimEnd()}${suffix}`
}

const maxIdLength = 64
const hashLength = 8

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns the id sent to Bedrock for a tool call or its result. Equal ids give equal results. */
export function sentToolUseId(id: string, { family }: BedrockModel): string {
  return family === 'mistral' ? nineCharacterId(id) : cleanId(id)
}

/** Returns an id that Bedrock and clients accept: the text itself, or its valid characters and a hash. */
export function cleanId(text: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(text)) return text
  const valid = text.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxIdLength - hashLength - 1)
  return `${valid}_${hashOf(text).slice(0, hashLength)}`
}

/** State shared by the conversion of one request. */
export interface Conversion {
  readonly model: BedrockModel
  readonly reasoning: ReasoningSigner
  /** Records a degradation. */
  readonly note: (path: Degradation['path'], action: Degradation['action']) => void
  /** Degradations recorded so far. */
  readonly degraded: readonly Degradation[]
  /** Returns a unique name for a document with the given title. */
  readonly documentName: (title: string) => string
  /** Paths of the `cache_control` fields behind the cache points, for degradations. */
  readonly cachePointPaths: Map<Json, string>
}

/** Content block with its path in the request. */
export interface Placed {
  readonly block: Json
  readonly path: string
}

export function startConversion(context: CodecContext): Conversion {
  const degraded: Degradation[] = []
  return {
    model: bedrockModel(baseModelOf(context)),
    reasoning: context.reasoning,
    note: (path, action) => {
      degraded.push({ path, action })
    },
    degraded,
    documentName: createDocumentNames(),
    cachePointPaths: new Map(),
  }
}

/** Returns the blocks of a content, a string or an array. Throws `invalid_request` for other values. */
export function blocksOf(content: unknown, path: string): readonly Placed[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }]
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array`)
  return content.map((block: unknown, index) => {
    if (!isRecord(block)) throw invalid(`${path}.${index} must be an object`)
    return { block, path: `${path}.${index}` }
  })
}
