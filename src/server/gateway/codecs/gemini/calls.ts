import type { CodecContext } from '../../translated/codec.ts'

type Memory = Pick<CodecContext, 'callSignatures' | 'deployment'>

/** Keeps the signature of a call, with the provider that gave it: each one refuses the other's. */
export function rememberCall({ callSignatures, deployment }: Memory, toolUseId: string, signature: string): void {
  callSignatures.remember(toolUseId, `${deployment.provider}\n${signature}`)
}

/** The signature of a call, unless another provider gave it. */
export function recallCall({ callSignatures, deployment }: Memory, toolUseId: string): string | undefined {
  const kept = callSignatures.recall(toolUseId)
  if (kept === undefined) return undefined
  const [provider, signature] = kept.split('\n', 2)
  if (signature === undefined) return kept
  return provider === deployment.provider ? signature : undefined
}

/** Vertex refuses ids on calls and their responses. */
export const hasCallIds = ({ deployment }: Pick<CodecContext, 'deployment'>): boolean => deployment.google === undefined
