import type { ContextMemory } from '../../contract/contexts.ts'
import type { InjectionReason, Memory, MemoryPreview } from '../../contract/memories.ts'
import { entry, maxBlockBytes, maxMemories, memoryBlock, type Selection, selectWithReasons } from './context.ts'

const bytesPerToken = 4

/** The memories of a session, and why each is in its context or not. */
export interface MemoryContext {
  /** Text block for the model; empty without memories. */
  readonly block: string
  readonly memories: readonly ContextMemory[]
}

/** Returns the context of a session whose memories were recorded; `all` are the first memories of its agent. */
export function recordedContext(injected: readonly Memory[], all: readonly Memory[]): MemoryContext {
  const ids = new Set(injected.map(({ id }) => id))
  const others = all.filter(({ id }) => !ids.has(id))
  return {
    block: memoryBlock(injected),
    memories: [
      ...injected.map(memory => contextMemory({ memory, reason: 'injected' })),
      ...others.map(memory => contextMemory({ memory, reason: memory.disabled ? 'disabled' : 'not_selected' })),
    ],
  }
}

/** Returns the context of a new session. */
export function newContext(injected: readonly Memory[], all: readonly Memory[]): MemoryContext {
  return { block: memoryBlock(injected), memories: selectionsOf(injected, all).map(contextMemory) }
}

const contextMemory = (selection: Selection<Memory>): ContextMemory => ({
  ...explained(selection),
  estimated_tokens: tokensOf(Buffer.byteLength(entry(selection.memory))),
})

const explained = ({ memory, reason }: Selection<Memory>) => ({
  memory,
  injected: reason === 'injected',
  reason,
  message: messages[reason],
})

const tokensOf = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

function selectionsOf(injected: readonly Memory[], all: readonly Memory[]): Selection<Memory>[] {
  const injectedIds = new Set(injected.map(({ id }) => id))
  // After the injected ones, the other enabled memories exceed the number or the size.
  return selectWithReasons([...injected, ...all.filter(({ id }) => !injectedIds.has(id))])
}

/** Returns the block of a new session with the `injected` memories, and why the others of `all` are not in it. */
export function previewOf(injected: readonly Memory[], all: readonly Memory[]): MemoryPreview {
  const text = memoryBlock(injected)
  const bytes = Buffer.byteLength(text)
  return {
    text,
    bytes,
    estimated_tokens: tokensOf(bytes),
    max_memories: maxMemories,
    max_bytes: maxBlockBytes,
    memories: selectionsOf(injected, all).map(explained),
  }
}

const messages: Readonly<Record<InjectionReason, string>> = {
  injected: 'is in the context of the session',
  disabled: 'is disabled',
  too_many: `is not among the first ${maxMemories}; raise its priority, or disable others`,
  no_room: `exceeds the limit of ${maxBlockBytes} bytes of the block; shorten it, raise its priority, or disable others`,
  not_selected: 'was not selected at the first run of the session, which fixes its memories',
}
