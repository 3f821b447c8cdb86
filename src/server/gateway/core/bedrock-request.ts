import { invalid } from '../../platform/errors.ts'
import { countOf, isRecord, recordOf } from '../../platform/json.ts'
import { keysOf, type OwnMembers } from '../bytes/json-members.ts'
import type { Address, ParsedRequest } from './call.ts'
import { rejectRepeated } from './request-checks.ts'

/** Fields with the limit of output tokens, in the formats of Bedrock's models. */
const limits = [
  'inferenceConfig',
  'textGenerationConfig',
  'max_tokens',
  'max_completion_tokens',
  'max_gen_len',
  'max_tokens_to_sample',
  'maxTokens',
] as const

/** Members that the checks of a request in one of Bedrock's formats read. */
export const bedrockKeys = keysOf(limits)

const limitKeys = keysOf(['maxTokens', 'max_new_tokens', 'maxTokenCount'])
const nowhere = { start: 0, end: 0 }

/** Parses a request in one of Bedrock's formats. The address contains everything except the limit of output tokens. */
export function parseBedrockRequest(
  { body, address: { model, stream } }: { readonly body: Buffer; readonly address: Address },
  members: OwnMembers,
): ParsedRequest {
  const [duplicate] = members.duplicates
  if (duplicate !== undefined) throw invalid(`${duplicate} is given twice`)
  const values = members.values.map((span, at) => {
    if (!span) return undefined
    rejectRepeated(body, span, { keys: limitKeys, path: limits[at] ?? '' })
    return JSON.parse(body.toString('utf8', span.start, span.end)) as unknown
  })
  return { model, modelSpan: nowhere, stream, members, maxTokens: Math.max(0, ...values.map(limitIn)) }
}

/** Reads a limit: a number, or a member of a settings object. */
function limitIn(value: unknown): number {
  if (!isRecord(value)) return countOf(value) ?? 0
  const { maxTokens, max_new_tokens: newTokens, maxTokenCount } = recordOf(value)
  return countOf(maxTokens ?? newTokens ?? maxTokenCount) ?? 0
}
