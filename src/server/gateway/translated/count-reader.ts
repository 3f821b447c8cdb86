import { jsonOr } from '../../platform/json.ts'
import { noTokens } from '../counting/token-counts.ts'
import type { AnswerReader } from '../upstream/exchange.ts'
import type { Codec } from './codec.ts'

/** Reads the answer of a provider's own token counter. What holds no count is a refusal: a guess may stand in. */
export const createCountReader = ({ counting }: Pick<Codec, 'counting'>): AnswerReader => ({
  isStream: () => false,
  whole(head, body) {
    const count = counting?.answer(jsonOr(body.toString(), undefined))
    if (count === undefined) return { outcome: 'refused', ...head, status: 501, body }
    return {
      headers: { ...head.headers, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ input_tokens: count })),
      counts: () => ({ usage: noTokens, stopReason: undefined }),
    }
  },
  refusal: (head, body) => ({ outcome: 'refused', ...head, body }),
  stream: () => {
    throw new Error('a count is never streamed')
  },
})
