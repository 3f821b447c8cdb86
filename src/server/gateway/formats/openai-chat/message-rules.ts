import type { Json } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import { callSignatureFor, signaturePlaceholder } from '../shared/call-signatures.ts'
import { nineCharacterId } from '../shared/tools.ts'
import { upstreamCallId } from './tool-calls.ts'

/** Rules of some models for messages, on servers with OpenAI's format. */
export interface MessageRules {
  /** True for models whose chat template accepts instructions only at the start, and no two turns of the user in a row. */
  readonly hasStrictTurns: boolean
  /** Returns the upstream's id of a tool call for the client's. */
  readonly callIdOf: (id: string) => string
  /** Returns further fields of the first call in a turn. */
  readonly firstCallFields: (id: string) => Json
}

const mistral = /mistral|ministral|magistral|mixtral|pixtral|codestral|devstral/
const qwenOrGemma = /qw(en|q)|gemma/
/** Gemini 3 and later, which reject calls without their signatures. A name without a number is that of the newest. */
const signing = /gemini-(?![12][.-])/

export function messageRulesOf(context: CodecContext): MessageRules {
  const name = baseModelOf(context).toLowerCase()
  return {
    hasStrictTurns: mistral.test(name) || qwenOrGemma.test(name),
    callIdOf: mistral.test(name) ? nineCharacterId : upstreamCallId,
    firstCallFields: id => (signing.test(name) ? signedFields(context, id) : {}),
  }
}

/** Returns the signature of a call in the field of Google's address for OpenAI's format. */
const signedFields = (context: CodecContext, id: string): Json => ({
  extra_content: { google: { thought_signature: callSignatureFor(context, id, false) ?? signaturePlaceholder } },
})
