import { countOf, isRecord, recordOf } from '../../platform/json.ts'
import { keysOf, type OwnMembers } from '../bytes/json-members.ts'
import type { Address, ParsedRequest } from './call.ts'

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

const nowhere = { start: 0, end: 0 }

/** Parses a request in one of Bedrock's formats. The address contains everything except the limit of output tokens. */
export function parseBedrockRequest(
  { body, address: { model, stream } }: { readonly body: Buffer; readonly address: Address },
  members: OwnMembers,
): ParsedRequest {
  const values = members.values.map(span =>
    span ? (JSON.parse(body.toString('utf8', span.start, span.end)) as unknown) : undefined,
  )
  return { model, modelSpan: nowhere, stream, members, maxTokens: Math.max(0, ...values.map(limitIn)) }
}

/** Reads a limit: a number, or a member of a settings object. */
function limitIn(value: unknown): number {
  if (!isRecord(value)) return countOf(value) ?? 0
  const { maxTokens, max_new_tokens: newTokens, maxTokenCount } = recordOf(value)
  return countOf(maxTokens ?? newTokens ?? maxTokenCount) ?? 0
}
