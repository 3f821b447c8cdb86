import { type Json, recordsOf, textOf } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import { callSignatureFor, signaturePlaceholder } from '../shared/call-signatures.ts'
import { nineCharacterId } from '../shared/tools.ts'
import { reasoningFieldIn } from './reasoning.ts'
import { upstreamCallId } from './tool-calls.ts'
import type { MessageRules } from './write-content.ts'

const mistral = /mistral|ministral|magistral|mixtral|pixtral|codestral|devstral/
const qwenOrGemma = /qw(en|q)|gemma/
/** Gemini 3 and later, which reject calls without their signatures. A name without a number is that of the newest. */
const signing = /gemini-(?![12][.-])/

/** Models that think by default, and the hosts of their own APIs. Others that serve them may know no such field. */
const thinking = /deepseek|kimi/
const thinkingHosts = /(^|\.)(deepseek\.com|moonshot\.(ai|cn)|kimi\.com)$/

/** Returns the rules of a model for the messages of a request. */
export function messageRulesOf(request: Json, context: CodecContext): MessageRules {
  const name = baseModelOf(context).toLowerCase()
  return {
    hasStrictTurns: mistral.test(name) || qwenOrGemma.test(name),
    callIdOf: mistral.test(name) ? nineCharacterId : upstreamCallId,
    needsReasoning:
      thinkingHosts.test(URL.parse(context.deployment.apiBase)?.hostname ?? '') ||
      (thinking.test(name) && hasOwnReasoning(request, context)),
    firstCallFields: id => (signing.test(name) ? signedFields(context, id) : {}),
  }
}

/** Returns the signature of a call in the field of Google's address for OpenAI's format. */
const signedFields = (context: CodecContext, id: string): Json => ({
  extra_content: { google: { thought_signature: callSignatureFor(context, id, false) ?? signaturePlaceholder } },
})

/** Returns true if the conversation has reasoning that this upstream sent as `reasoning_content`. */
const hasOwnReasoning = ({ messages }: Json, { reasoning }: CodecContext): boolean =>
  recordsOf(messages).some(({ content }) =>
    recordsOf(content).some(
      ({ type, signature }) =>
        type === 'thinking' && reasoningFieldIn(reasoning.stateOf(textOf(signature))) === 'reasoning_content',
    ),
  )
