import { googleError } from '../../../contract/gemini.ts'
import { nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { type Splice, spliced } from '../bytes/body-edit.ts'
import { openText, stringEnd } from '../bytes/json-scanner.ts'
import type { Degradation } from '../core/degradations.ts'
import { carrierStart } from '../formats/gemini/carried-state.ts'
import { isDeclinedBy } from '../formats/gemini/read-answer.ts'
import { geminiUsageReader } from '../tokens/stated-usage.ts'
import { ownHeaders, traceOf } from '../upstream/headers.ts'
import { geminiPath } from '../upstream/paths.ts'
import { countedOr, declinesBy, readJson } from './answers.ts'
import { createGeminiTap } from './gemini-tap.ts'
import type { PassthroughCall, PassthroughFormat } from './passthrough-format.ts'

/** Google's `generateContent`, at Google itself and on Vertex AI. The path names the model. */
export const geminiPassthrough: PassthroughFormat = {
  request(attempt) {
    const { body, degraded } = withoutCarriers(attempt.call.body)
    return {
      path: geminiPath(attempt.target, methodOf(attempt)),
      headers: { ...ownHeaders, ...traceOf(attempt.call) },
      body,
      degraded,
    }
  },
  createTap: createGeminiTap,
  readAnswer(body) {
    const answer = recordOf(readJson(body))
    const [candidate] = recordsOf(answer['candidates'])
    const blocked = recordOf(answer['promptFeedback'])['blockReason']
    return {
      usage: countedOr(geminiUsageReader()(answer), answer['candidates']),
      stopReason: nonEmptyText(candidate?.['finishReason']) ?? nonEmptyText(blocked),
    }
  },
  declines: declinesBy(({ candidates, promptFeedback }) => {
    const given = recordsOf(candidates)
    const parts = given.flatMap(({ content }) => recordsOf(recordOf(content)['parts']))
    const isBlocked = nonEmptyText(recordOf(promptFeedback)['blockReason']) !== undefined
    const isDeclined = given.some(({ finishReason }) => isDeclinedBy(textOf(finishReason)))
    return (isBlocked || isDeclined) && parts.every(({ text, thought }) => text === '' || thought === true)
  }),
  // Older Google clients cannot read comments in event streams, so the ping is a chunk with empty text.
  ping: frame({ candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] }),
  failure: ({ code, message }) => frame(googleError(code, message)),
  errorBody: ({ code, message }) => Buffer.from(JSON.stringify(googleError(code, message))),
}

function frame(value: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(value)}\n\n`)
}

function methodOf({ call, parsed }: PassthroughCall): string {
  if (call.kind === 'gemini_count') return 'countTokens'
  return parsed.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
}

/** Google's documented value for a missing signature. */
const unknownSignature = '"skip_thought_signature_validator"'
const opening = Buffer.from(`"${carrierStart}`)

/** Replaces the signatures in which the gateway carries the thinking of other providers; Google would reject them. */
function withoutCarriers(body: Buffer): { readonly body: Buffer; readonly degraded: readonly Degradation[] } {
  const splices: Splice[] = []
  const text = openText(body)
  for (let at = body.indexOf(opening); at >= 0; at = body.indexOf(opening, at + 1)) {
    // Other text may contain the same characters.
    const isSignature = /"thought(?:S|_s)ignature"\s*:\s*$/.test(body.toString('latin1', Math.max(0, at - 64), at))
    if (isSignature) splices.push({ start: at, end: stringEnd(text, at), text: unknownSignature })
  }
  if (splices.length === 0) return { body, degraded: [] }
  return {
    body: spliced(body, splices),
    degraded: [{ path: 'contents.thoughtSignature', action: 'signature_skipped' }],
  }
}
