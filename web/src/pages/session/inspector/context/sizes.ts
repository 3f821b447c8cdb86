import type { SessionContext } from '../../../../../../src/contract/contexts.ts'

/** Tokens of one kind of content in the next model request. */
export interface Size {
  readonly name: string
  readonly tokens: number
}

type Sized = Pick<SessionContext, 'parts' | 'tools' | 'conversation'>

/** Returns what the next model request contains, in its order, without what is empty. */
export function sizesOf({ parts, tools, conversation }: Sized): Size[] {
  const skills = parts.filter(({ kind }) => kind === 'skill')
  const memories = parts.filter(({ kind }) => kind === 'memories')
  const others = parts.filter(({ kind }) => kind !== 'skill' && kind !== 'memories')
  return [
    { name: 'Instructions', tokens: sumOf(others) },
    { name: 'Skills', tokens: sumOf(skills) },
    { name: 'Memories', tokens: sumOf(memories) },
    { name: 'Tools', tokens: sumOf(tools.filter(tool => tool.is_shown)) },
    { name: 'Conversation', tokens: conversation?.estimated_tokens ?? 0 },
  ].filter(({ tokens }) => tokens > 0)
}

const sumOf = (parts: readonly { readonly estimated_tokens: number }[]): number =>
  parts.reduce((sum, { estimated_tokens: tokens }) => sum + tokens, 0)
