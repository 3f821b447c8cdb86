import type { InjectionReason, Memory, MemoryPreview } from '../../contract/memories.ts'
import { maxBlockBytes, maxMemories, memoryBlock, selectWithReasons } from './context.ts'

const bytesPerToken = 4

/** Returns the block of a new session with the `injected` memories, and why the others of `all` are not in it. */
export function previewOf(injected: readonly Memory[], all: readonly Memory[]): MemoryPreview {
  const injectedIds = new Set(injected.map(({ id }) => id))
  // After the injected ones, the other enabled memories exceed the number or the size.
  const selections = selectWithReasons([...injected, ...all.filter(({ id }) => !injectedIds.has(id))])
  const text = memoryBlock(injected)
  const bytes = Buffer.byteLength(text)
  return {
    text,
    bytes,
    estimated_tokens: Math.ceil(bytes / bytesPerToken),
    max_memories: maxMemories,
    max_bytes: maxBlockBytes,
    memories: selections.map(({ memory, reason }) => ({
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
  too_many: `is not among the first ${maxMemories}; raise its priority, or disable others`,
  no_room: `exceeds the limit of ${maxBlockBytes} bytes of the block; shorten it, raise its priority, or disable others`,
}
