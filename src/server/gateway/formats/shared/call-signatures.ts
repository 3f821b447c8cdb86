import type { CodecContext } from '../../core/codec.ts'

/** Google's documented placeholder for an unknown call signature. */
export const signaturePlaceholder = 'skip_thought_signature_validator'

type SignatureContext = Pick<CodecContext, 'callSignatures' | 'deployment' | 'upstreamModel'>

/** Stores the signature of a call with its provider and model. A provider rejects signatures of other providers. */
export function storeCallSignature(context: SignatureContext, toolUseId: string, signature: string): void {
  const { callSignatures, deployment, upstreamModel } = context
  callSignatures.set(toolUseId, JSON.stringify([deployment.provider, upstreamModel, signature]))
}

/** Returns the stored signature of a call if it is from this provider, and unless `readsReasoning`, from this model. */
export function callSignatureFor(
  context: SignatureContext,
  toolUseId: string,
  readsReasoning: boolean,
): string | undefined {
  const { callSignatures, deployment, upstreamModel } = context
  const stored = callSignatures.get(toolUseId)
  if (stored === undefined) return undefined
  const [provider, model, signature] = JSON.parse(stored) as readonly [string, string, string]
  const isUsable = provider === deployment.provider && (readsReasoning || model === upstreamModel)
  return isUsable ? signature : undefined
}
