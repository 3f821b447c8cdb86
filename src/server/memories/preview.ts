import type { InjectionReason, Memory, MemoryPreview } from '../../contract/memories.ts'
import { maxBlockBytes, maxMemories, memoryBlock, weigh } from './context.ts'

const bytesPerToken = 4

/** What a new session gets, `given`, and why the others of `all` are not in it. */
export function previewOf(given: readonly Memory[], all: readonly Memory[]): MemoryPreview {
  const isGiven = new Set(given.map(({ id }) => id))
  // Weighed behind those that are in, an enabled one is out by number or by size.
  const weighed = weigh([...given, ...all.filter(({ id }) => !isGiven.has(id))])
  const text = memoryBlock(given)
  const bytes = Buffer.byteLength(text)
  return {
    text,
    bytes,
    estimated_tokens: Math.ceil(bytes / bytesPerToken),
    max_memories: maxMemories,
    max_bytes: maxBlockBytes,
    memories: weighed.map(({ memory, reason }) => ({
      memory,
      injected: reason === 'injected',
      reason,
      message: messages[reason],
    })),
  }
}

const messages: Readonly<Record<InjectionReason, string>> = {
  injected: 'is in the context of a new session',
  disabled: 'is disabled',
  too_many: `is behind the first ${maxMemories}; give it a higher priority, or disable others`,
  no_room: `does not fit into what is left of ${maxBlockBytes} bytes; shorten it, give it a higher priority, or disable others`,
}
