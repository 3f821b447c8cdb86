import { countOf, isRecord, recordOf } from '../../platform/json.ts'
import { keysOf, type OwnMembers } from '../bytes/json-members.ts'
import type { Address, Ask } from './call.ts'

/** Where the formats of Bedrock's models state the most tokens of an answer. */
const limits = [
  'inferenceConfig',
  'textGenerationConfig',
  'max_tokens',
  'max_completion_tokens',
  'max_gen_len',
  'max_tokens_to_sample',
  'maxTokens',
] as const

/** What the checks of a request in one of Bedrock's formats look at. */
export const bedrockKeys = keysOf(limits)

const nowhere = { start: 0, end: 0 }

/** What a request in one of Bedrock's formats asks for: all but the length of the answer stands in its address. */
export function bedrockAsk(
  { body, address: { model, stream } }: { readonly body: Buffer; readonly address: Address },
  members: OwnMembers,
): Ask {
  const values = members.values.map(span =>
    span ? (JSON.parse(body.toString('utf8', span.start, span.end)) as unknown) : undefined,
  )
  return { model, modelSpan: nowhere, stream, members, maxTokens: Math.max(0, ...values.map(limitIn)) }
}

/** A number, or the one in a block of settings. */
function limitIn(value: unknown): number {
  if (!isRecord(value)) return countOf(value) ?? 0
  const { maxTokens, max_new_tokens: newTokens, maxTokenCount } = recordOf(value)
  return countOf(maxTokens ?? newTokens ?? maxTokenCount) ?? 0
}
