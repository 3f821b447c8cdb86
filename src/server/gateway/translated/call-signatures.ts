import type { CallSignatures } from './codec.ts'

/** Keeps signatures in memory, the most recently used `capacity` of them. */
export function createCallSignatures(capacity = 10_000): CallSignatures {
  // A Map keeps the order of insertion: the first is the one unused for the longest time.
  const kept = new Map<string, string>()
  const put = (toolUseId: string, signature: string): void => {
    kept.delete(toolUseId)
    kept.set(toolUseId, signature)
  }
  return {
    remember(toolUseId, signature) {
      put(toolUseId, signature)
      const [oldest] = kept.keys()
      if (kept.size > capacity && oldest !== undefined) kept.delete(oldest)
    },
    recall(toolUseId) {
      const signature = kept.get(toolUseId)
      if (signature !== undefined) put(toolUseId, signature)
      return signature
    },
  }
}
