import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord } from '../../../platform/json.ts'
import { keysOf, type OwnMembers } from '../../bytes/json-members.ts'
import { type Span, skipBlank } from '../../bytes/json-scanner.ts'
import type { Address, CallKind, ParsedRequest } from '../../core/call.ts'
import { rejectRepeated } from '../../core/request-checks.ts'
import { field } from './fields.ts'

/** Top-level keys of a request in Google's format that are parsed or checked. */
export const geminiKeys = keysOf([
  'contents',
  'generationConfig',
  'generation_config',
  'tools',
  'cachedContent',
  'cached_content',
])

/** Keys that must not appear duplicate. */
const uniqueKeys: ReadonlySet<string> = new Set(['contents', 'generationConfig', 'generation_config'])

const limitKeys = keysOf(['maxOutputTokens', 'max_output_tokens'])

interface Given {
  readonly kind: CallKind
  readonly body: Buffer
  readonly address: Address
}

const noSpan: Span = { start: 0, end: 0 }
const openArray = 0x5b

/** Parses a request in Google's format. Throws `invalid_request` that names the field. */
export function parseGeminiRequest({ kind, body, address }: Given, members: OwnMembers): ParsedRequest {
  const { values, duplicates } = members
  const [contents, config, otherConfig] = values
  const duplicate =
    duplicates.find(name => uniqueKeys.has(name)) ?? (config && otherConfig ? 'generationConfig' : undefined)
  if (duplicate !== undefined) throw invalid(`${duplicate} is given twice`)
  const { model, stream } = address
  if (kind !== 'gemini') return { model, modelSpan: noSpan, stream: false, maxTokens: 0 }
  checkContents(body, contents)
  const span = config ?? otherConfig
  return { model, modelSpan: noSpan, stream, members, maxTokens: span ? maxTokensIn(body, span) : 0 }
}

function checkContents(body: Buffer, span: Span | undefined): void {
  if (!span) throw invalid('contents is required')
  const { start, end } = span
  if (body[start] !== openArray) throw invalid('contents must be an array')
  if (skipBlank(body, start + 1) === end - 1) throw invalid('contents must not be empty')
}

function maxTokensIn(body: Buffer, span: Span): number {
  const { start, end } = span
  rejectRepeated(body, span, { keys: limitKeys, path: 'generationConfig' })
  const config: unknown = JSON.parse(body.toString('utf8', start, end))
  if (config === null) return 0
  if (!isRecord(config)) throw invalid('generationConfig must be an object')
  if ('maxOutputTokens' in config && 'max_output_tokens' in config)
    throw invalid('generationConfig.maxOutputTokens is given twice')
  const value = field(config, 'maxOutputTokens')
  if (isAbsent(value)) return 0
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw invalid('generationConfig.maxOutputTokens must be an integer')
  if (value < 1) throw invalid('generationConfig.maxOutputTokens must be 1 or more')
  return value
}
