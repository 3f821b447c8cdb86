import { jsonOr } from '../../platform/json.ts'
import { noTokens, type TokenCounts } from '../counting/token-counts.ts'
import type { UsageUpdate } from '../translated/model-event.ts'

const bytesPerToken = 4

/** The JSON of a body; undefined when it is none. */
export const readJson = (body: Buffer): unknown => jsonOr(body.toString('utf8'), undefined)

/** The counts that an answer states; without any a guess from its content, marked as such. */
export function countedOr(stated: UsageUpdate | undefined, content: unknown): TokenCounts {
  if (stated?.output_tokens !== undefined) return { ...noTokens, ...stated }
  if (content === undefined) return noTokens
  const guess = Math.ceil(JSON.stringify(content).length / bytesPerToken)
  return { ...noTokens, ...stated, output_tokens: guess, estimated: true }
}
